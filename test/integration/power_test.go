// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

type powerCall func(ctx context.Context, name string, body *vmv1alpha1.PowerOptions, opts metav1.CreateOptions) (*vmv1alpha1.VirtualMachine, error)

func TestPowerEndpoints_SetTheSpec(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	for name, tc := range map[string]struct {
		call       powerCall
		from, want vmv1alpha1.PowerState
		body       vmv1alpha1.PowerOptions
		mode       func(*vmv1alpha1.VirtualMachineSpec) vmv1alpha1.PowerOpMode
		refused    func(error) bool
	}{
		"start":                    {call: vms.Start, from: vmv1alpha1.PoweredOff, want: vmv1alpha1.PoweredOn},
		"start again":              {call: vms.Start, from: vmv1alpha1.PoweredOn, want: vmv1alpha1.PoweredOn},
		"start has no mode":        {call: vms.Start, from: vmv1alpha1.PoweredOff, want: vmv1alpha1.PoweredOff, body: vmv1alpha1.PowerOptions{Mode: vmv1alpha1.PowerOpModeHard}, refused: apierrors.IsInvalid},
		"stop":                     {call: vms.Stop, from: vmv1alpha1.PoweredOn, want: vmv1alpha1.PoweredOff},
		"stop hard":                {call: vms.Stop, from: vmv1alpha1.PoweredOn, want: vmv1alpha1.PoweredOff, body: vmv1alpha1.PowerOptions{Mode: vmv1alpha1.PowerOpModeHard}, mode: func(s *vmv1alpha1.VirtualMachineSpec) vmv1alpha1.PowerOpMode { return s.PowerOffMode }},
		"stop in an unknown mode":  {call: vms.Stop, from: vmv1alpha1.PoweredOn, want: vmv1alpha1.PoweredOn, body: vmv1alpha1.PowerOptions{Mode: "Gentle"}, refused: apierrors.IsInvalid},
		"stop in a dry run":        {call: vms.Stop, from: vmv1alpha1.PoweredOn, want: vmv1alpha1.PoweredOn, body: vmv1alpha1.PowerOptions{DryRun: []string{metav1.DryRunAll}}},
		"suspend":                  {call: vms.Suspend, from: vmv1alpha1.PoweredOn, want: vmv1alpha1.Suspended},
		"suspend a powered-off VM": {call: vms.Suspend, from: vmv1alpha1.PoweredOff, want: vmv1alpha1.PoweredOff, refused: apierrors.IsConflict},
		"restart a powered-off VM": {call: vms.Restart, from: vmv1alpha1.PoweredOff, want: vmv1alpha1.PoweredOff, refused: apierrors.IsConflict},
		"body about another VM":    {call: vms.Stop, from: vmv1alpha1.PoweredOn, want: vmv1alpha1.PoweredOn, body: vmv1alpha1.PowerOptions{ObjectMeta: metav1.ObjectMeta{Name: "other"}}, refused: apierrors.IsInvalid},
		"unknown value of dry run": {call: vms.Stop, from: vmv1alpha1.PoweredOn, want: vmv1alpha1.PoweredOn, body: vmv1alpha1.PowerOptions{DryRun: []string{"Some"}}, refused: apierrors.IsInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			vm := inlineVM("")
			vm.GenerateName = "power-"
			vm.Spec.PowerState = tc.from
			vm = createVM(t, c, vm)
			_, err := tc.call(t.Context(), vm.Name, &tc.body, metav1.CreateOptions{})
			if tc.refused == nil && err != nil || tc.refused != nil && !tc.refused(err) {
				t.Fatalf("answer: %v", err)
			}
			got := getVM(t, c, vm.Name)
			if got.Spec.PowerState != tc.want {
				t.Errorf("spec.powerState = %s, want %s", got.Spec.PowerState, tc.want)
			}
			if tc.mode != nil && tc.mode(&got.Spec) != tc.body.Mode {
				t.Errorf("mode = %s, want %s", tc.mode(&got.Spec), tc.body.Mode)
			}
			wantGeneration := vm.Generation
			if tc.want != tc.from {
				wantGeneration++
			}
			if got.Generation != wantGeneration {
				t.Errorf("generation = %d, want %d", got.Generation, wantGeneration)
			}
		})
	}
}

// A VM that powered itself off is started although its spec has PoweredOn, because its powerPolicy, or the delay
// between attempts, may keep it off.
func TestStart_RequestsARestartOfAVMThatDoesNotRun(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	for name, tc := range map[string]struct {
		desired, observed vmv1alpha1.PowerState
		want              bool
	}{
		"off":                  {vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, true},
		"suspended":            {vmv1alpha1.PoweredOn, vmv1alpha1.Suspended, true},
		"running":              {vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOn, false},
		"not created":          {vmv1alpha1.PoweredOn, "", false},
		"off as its spec has":  {vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOff, false},
		"suspended as desired": {vmv1alpha1.Suspended, vmv1alpha1.Suspended, false},
	} {
		t.Run(name, func(t *testing.T) {
			vm := inlineVM("")
			vm.GenerateName, vm.Spec.PowerState, vm.Spec.PowerPolicy = "start-", tc.desired, ptr.To(vmv1alpha1.PowerPolicyManual)
			vm = createVM(t, c, vm)
			vm.Status.PowerState = tc.observed
			vm, err := vms.UpdateStatus(t.Context(), vm, metav1.UpdateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			before := time.Now().Truncate(time.Second)
			if _, err := vms.Start(t.Context(), vm.Name, &vmv1alpha1.PowerOptions{}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			got := getVM(t, c, vm.Name)
			value, requested := got.Annotations[vmv1alpha1.AnnotationStartRequested]
			at, err := time.Parse(time.RFC3339, value)
			if requested != tc.want || requested && (err != nil || at.Before(before)) || got.Spec.PowerState != vmv1alpha1.PoweredOn {
				t.Errorf("annotation %q (%t), spec.powerState %s; want a request: %t", value, requested, got.Spec.PowerState, tc.want)
			}
		})
	}
}

func TestRestart_RequestsOneRestartNow(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vm := createVM(t, c, inlineVM("again"))
	before := time.Now().Truncate(time.Second)
	got, err := c.VmV1alpha1().VirtualMachines(namespace).Restart(t.Context(), vm.Name, &vmv1alpha1.PowerOptions{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	at, err := time.Parse(time.RFC3339, got.Spec.NextRestartTime)
	if err != nil || at.Before(before) || at.After(time.Now()) {
		t.Errorf("spec.nextRestartTime = %q (%v), want the time of the request", got.Spec.NextRestartTime, err)
	}
	if got.Spec.PowerState != vmv1alpha1.PoweredOn {
		t.Errorf("spec.powerState = %s, want PoweredOn", got.Spec.PowerState)
	}
}

func TestRestart_ReplacesNowByTheTimeOfTheRequest(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vm := createVM(t, c, inlineVM("now"))
	vm.Spec.NextRestartTime = "now"
	got, err := c.VmV1alpha1().VirtualMachines(namespace).Update(t.Context(), vm, metav1.UpdateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.RFC3339, got.Spec.NextRestartTime); err != nil {
		t.Errorf("spec.nextRestartTime = %q: %v", got.Spec.NextRestartTime, err)
	}
}

// The permission to start a VM does not include the permission to read it.
func TestPowerEndpoints_DoNotReturnSecretsOfTheSpec(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	vms := c.VmV1alpha1().VirtualMachines(namespace)
	vm := inlineVM("secret")
	vm.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}
	vm.Spec.Bootstrap = &vmv1alpha1.VirtualMachineBootstrap{VAppConfig: &vmv1alpha1.VAppConfigBootstrap{Properties: map[string]string{"password": "hunter2"}}}
	createVM(t, c, vm)
	for name, call := range map[string]powerCall{"start": vms.Start, "restart": vms.Restart, "suspend": vms.Suspend, "stop": vms.Stop} {
		got, err := call(t.Context(), "secret", &vmv1alpha1.PowerOptions{DryRun: []string{metav1.DryRunAll}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := json.Marshal(got)
		if err != nil || strings.Contains(string(text), "hunter2") {
			t.Errorf("%s answers with a password (error %v): %s", name, err, text)
		}
		if got.Name != "secret" || got.Spec.PowerState == "" || len(got.ManagedFields) == 0 {
			t.Errorf("%s answers %+v, want the name and the power state", name, got)
		}
		if _, err := vms.Update(t.Context(), got, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
			t.Errorf("%s: the answer can be stored as the VM: %v", name, err)
		}
	}
}

func TestPowerEndpoints_ReturnNotFoundForAMissingVM(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	_, err := c.VmV1alpha1().VirtualMachines(namespace).Stop(t.Context(), "missing", &vmv1alpha1.PowerOptions{}, metav1.CreateOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("stopping a VM that does not exist: %v, want NotFound", err)
	}
	// If the VM were created by the request, it would be rejected because of missing fields.
	list, err := c.VmV1alpha1().VirtualMachines(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("there are %d VMs (%v), want none", len(list.Items), err)
	}
}

func TestPowerEndpoints_AreRecordedInManagedFields(t *testing.T) {
	c := framework.StartStandalone(t).Client(t)
	createVM(t, c, inlineVM("owned"))
	got, err := c.VmV1alpha1().VirtualMachines(namespace).Stop(t.Context(), "owned", &vmv1alpha1.PowerOptions{}, metav1.CreateOptions{FieldManager: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(got.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == "operator" && e.Subresource == "stop" && e.FieldsV1.GetRawString() == `{"f:spec":{"f:powerState":{}}}`
	}) {
		t.Errorf("managed fields %+v, want spec.powerState owned by operator by way of stop", got.ManagedFields)
	}
}
