// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const ignition = `{"ignition":{"version":"3.4.0"}}`

func TestBootstrap_UsesTheDataOfTheMachine(t *testing.T) {
	key := &vmv1alpha1.SecretKeySelector{Name: "data", Key: "value"}
	for name, tc := range map[string]struct {
		secret map[string][]byte
		spec   *vmv1alpha1.VirtualMachineBootstrap
		data   provider.BootstrapData
		want   *vmv1alpha1.VirtualMachineBootstrap
		format string
	}{
		"cloud-config": {
			secret: map[string][]byte{"value": []byte("#cloud-config\n"), "format": []byte("cloud-config")},
			data:   provider.BootstrapData{CloudConfig: []byte("#cloud-config\n")}, format: "cloud-config",
			want: &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: key}},
		},
		"of no format": {
			secret: map[string][]byte{"value": []byte("#!/bin/sh\n")},
			data:   provider.BootstrapData{CloudConfig: []byte("#!/bin/sh\n")}, format: "cloud-config",
			want: &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: key}},
		},
		"Ignition": {
			secret: map[string][]byte{"value": []byte(ignition), "format": []byte("ignition")},
			data:   provider.BootstrapData{Ignition: []byte(ignition)}, format: "ignition",
			want: &vmv1alpha1.VirtualMachineBootstrap{Ignition: &vmv1alpha1.IgnitionBootstrap{RawConfig: key}},
		},
		"in addition to the spec": {
			secret: map[string][]byte{"value": []byte("#!x"), "format": nil},
			spec: &vmv1alpha1.VirtualMachineBootstrap{WaitForTools: true, RemoveAfterFirstBoot: true, CloudInit: &vmv1alpha1.CloudInitBootstrap{
				SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA"}, RawVendorData: &vmv1alpha1.SecretKeySelector{Name: "data", Key: "format-of-old"}}},
			data: provider.BootstrapData{CloudConfig: []byte("#!x"), VendorData: []byte("#!vendor")}, format: "cloud-config",
			want: &vmv1alpha1.VirtualMachineBootstrap{WaitForTools: true, RemoveAfterFirstBoot: true, CloudInit: &vmv1alpha1.CloudInitBootstrap{
				SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA"}, RawVendorData: &vmv1alpha1.SecretKeySelector{Name: "data", Key: "format-of-old"}, RawCloudConfig: key}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(nodeOf, func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Bootstrap = tc.spec.DeepCopy() }), photon())
			*h.machines = *ready()
			tc.secret["format-of-old"] = []byte("#!vendor")
			h.secret("data", tc.secret)
			h.mustReconcile()
			request := h.provider.requests[0]
			if !request.CanStartCreate {
				t.Fatalf("the virtual machine waits: BootstrapReady %q, MachineReady %q", h.condition(vmv1alpha1.ConditionBootstrapReady), h.condition(vmv1alpha1.ConditionMachineReady))
			}
			if diff := cmp.Diff(&tc.data, request.Bootstrap); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, request.Effective.Bootstrap); diff != "" {
				t.Errorf("effective bootstrap (-want +got):\n%s", diff)
			}
			vm := h.vm()
			if diff := cmp.Diff(tc.spec, vm.Spec.Bootstrap); diff != "" || vm.Status.Machine.DataFormat != tc.format || vm.Status.Machine.DataSecretName != "data" {
				t.Errorf("status.machine is %v; the spec was changed (-want +got):\n%s", vm.Status.Machine, diff)
			}
			reads := 0
			for _, a := range h.host.Actions() {
				if a.GetVerb() == "get" && a.GetResource().Resource == "secrets" {
					reads++
				}
			}
			if reads != 1 {
				t.Errorf("the Secret was read %d times in a reconcile, want once", reads)
			}
		})
	}
}

func TestBootstrap_ReportsInvalidMachineDataBySecretAndKey(t *testing.T) {
	for name, tc := range map[string]struct {
		secret map[string][]byte
		spec   *vmv1alpha1.VirtualMachineBootstrap
		reason string
		why    string
	}{
		"no Secret":         {nil, nil, vmv1alpha1.ReasonNotFound, `Secret "data" does not exist in namespace "ns"`},
		"no data in it":     {map[string][]byte{"user-data": []byte("x")}, nil, vmv1alpha1.ReasonNotFound, `Secret "data" in namespace "ns" has no key "value"`},
		"an unknown format": {map[string][]byte{"value": []byte("x"), "format": []byte("hunter2")}, nil, vmv1alpha1.ReasonInvalid, `key "format" of Secret "data" in namespace "ns" has an unknown format; allowed: cloud-config, ignition`},
		"too much data":     {map[string][]byte{"value": []byte("hunter2" + random(100_000))}, nil, vmv1alpha1.ReasonInvalid, `the value of key "value" of Secret "data" in namespace "ns" is too long`},
		"no Ignition":       {map[string][]byte{"value": []byte("hunter2"), "format": []byte("ignition")}, nil, vmv1alpha1.ReasonInvalid, "is not JSON"},
		"two user data":     {map[string][]byte{"value": []byte("x")}, &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: fromSecret}}, vmv1alpha1.ReasonInvalid, "spec.bootstrap.cloudInit.rawCloudConfig of the virtual machine cannot be combined with bootstrap data in format cloud-config"},
		"two user data, one of them in the spec": {map[string][]byte{"value": []byte("x")}, &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{CloudConfig: "#cloud-config"}},
			vmv1alpha1.ReasonInvalid, "spec.bootstrap.cloudInit.cloudConfig of the virtual machine cannot be combined"},
		"cloud-init in the spec and Ignition": {map[string][]byte{"value": []byte(ignition), "format": []byte("ignition")}, &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{}},
			vmv1alpha1.ReasonInvalid, "spec.bootstrap.cloudInit of the virtual machine cannot be combined with bootstrap data in format ignition"},
		"Ignition in the spec": {map[string][]byte{"value": []byte("x")}, &vmv1alpha1.VirtualMachineBootstrap{Ignition: &vmv1alpha1.IgnitionBootstrap{RawConfig: fromSecret}}, vmv1alpha1.ReasonInvalid, "spec.bootstrap.ignition of"},
		"Sysprep":              {map[string][]byte{"value": []byte("x")}, &vmv1alpha1.VirtualMachineBootstrap{Sysprep: &vmv1alpha1.SysprepBootstrap{}}, vmv1alpha1.ReasonInvalid, "spec.bootstrap.sysprep of"},
		"a customization":      {map[string][]byte{"value": []byte("x")}, &vmv1alpha1.VirtualMachineBootstrap{LinuxPrep: &vmv1alpha1.LinuxPrepBootstrap{}}, vmv1alpha1.ReasonInvalid, "spec.bootstrap.linuxPrep of"},
		"OVF properties":       {map[string][]byte{"value": []byte("x")}, &vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{}}, vmv1alpha1.ReasonInvalid, "spec.bootstrap.vAppConfig of"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, fresh(nodeOf, func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Bootstrap = tc.spec }), photon())
			*h.machines = *ready()
			if tc.secret != nil {
				h.secret("data", tc.secret)
			}
			result := h.mustReconcile()
			c := findCondition(h.vm(), vmv1alpha1.ConditionBootstrapReady)
			if c == nil || c.Status != "False" || c.Reason != tc.reason || result.RequeueAfter != controller.Recheck {
				t.Fatalf("BootstrapReady is %v, requeued after %s; want False/%s and a requeue", c, result.RequeueAfter, tc.reason)
			}
			if !strings.Contains(c.Message, `Machine "m"`) || !strings.Contains(c.Message, tc.why) || strings.Contains(c.Message, "hunter2") {
				t.Errorf("message %q, want the Machine, %q and no value", c.Message, tc.why)
			}
			if h.provider.requests[0].CanStartCreate {
				t.Error("the VM was created nevertheless")
			}
		})
	}
}

func TestBootstrap_RetriesAnUnreadableMachineSecret(t *testing.T) {
	h := newHarness(t, fresh(nodeOf), photon())
	*h.machines = *ready()
	h.host.PrependReactor("get", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errTest })
	if _, err := h.tryReconcile(); !errors.Is(err, errTest) {
		t.Errorf("error %v, want the read error", err)
	}
	if got := h.condition(vmv1alpha1.ConditionBootstrapReady); got != "False/Error" {
		t.Errorf("BootstrapReady is %s, want False/Error", got)
	}
}

// The bootstrap data of an existing virtual machine stays, even if its Machine or Secret changes.
func TestBootstrap_IsKeptForAnExistingVM(t *testing.T) {
	h := newHarness(t, fresh(nodeOf, func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.UniqueID = "vm-1"
		setTrue(vm, time.Now(), vmv1alpha1.ConditionCreated)
		vm.Status.Machine = &vmv1alpha1.VirtualMachineOwner{APIGroup: "cluster.x-k8s.io", Name: "m", DataSecretName: "data", DataFormat: "cloud-config"}
	}), photon())
	want := &vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{RawCloudConfig: &vmv1alpha1.SecretKeySelector{Name: "data", Key: "value"}}}
	for name, machines := range map[string]*fakeMachines{
		"its Machine is deleted":           {},
		"its Machine has other data":       ready(func(m *fakeMachines) { m.machine.DataSecret = "other" }),
		"its Cluster is not provisioned":   ready(func(m *fakeMachines) { m.cluster.InfrastructureProvisioned = false }),
		"its Machine is in another domain": ready(func(m *fakeMachines) { m.machine.FailureDomain = "elsewhere" }),
	} {
		t.Run(name, func(t *testing.T) {
			h.t = t
			*h.machines = *machines
			h.mustReconcile()
			request := h.provider.requests[len(h.provider.requests)-1]
			if diff := cmp.Diff(want, request.Effective.Bootstrap); diff != "" {
				t.Errorf("effective bootstrap (-want +got):\n%s", diff)
			}
			if got := h.condition(vmv1alpha1.ConditionMachineReady); got != "" || len(h.host.Actions()) > 0 {
				t.Errorf("MachineReady is %q, requests %v; want no requests", got, h.host.Actions())
			}
		})
	}
}

func TestBootstrap_UsesTheMachinesCurrentDataForANewInstanceID(t *testing.T) {
	h := newHarness(t, fresh(nodeOf, boots(vmv1alpha1.VirtualMachineBootstrap{CloudInit: &vmv1alpha1.CloudInitBootstrap{InstanceID: "second"}}), func(vm *vmv1alpha1.VirtualMachine) {
		vm.Status.UniqueID = "vm-1"
		setTrue(vm, time.Now(), vmv1alpha1.ConditionCreated)
		vm.Status.Machine = &vmv1alpha1.VirtualMachineOwner{APIGroup: "cluster.x-k8s.io", Name: "m", DataSecretName: "data", DataFormat: "cloud-config"}
	}), photon())
	*h.machines = *ready(func(m *fakeMachines) { m.machine.DataSecret = "newer" })
	h.secret("newer", map[string][]byte{"value": []byte("#!second")})
	h.mustReconcile()
	if got := h.provider.requests[0].Bootstrap; got == nil || string(got.CloudConfig) != "#!second" {
		t.Errorf("data %v, want the data of the Machine's current Secret", got)
	}
}
