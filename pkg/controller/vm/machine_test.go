// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
)

// fakeMachines has one Machine and one Cluster, in any group.
type fakeMachines struct {
	machine                *clusterapi.Machine
	cluster                *clusterapi.Cluster
	machineErr, clusterErr error
	handlers               clusterapi.Handlers
}

func (m *fakeMachines) Machine(_ string, key types.NamespacedName) (*clusterapi.Machine, error) {
	if m.machineErr != nil || m.machine == nil || m.machine.Name != key.Name {
		return nil, m.machineErr
	}
	return m.machine, nil
}

func (m *fakeMachines) Cluster(_ string, key types.NamespacedName) (*clusterapi.Cluster, error) {
	if m.clusterErr != nil || m.cluster == nil || m.cluster.Name != key.Name {
		return nil, m.clusterErr
	}
	return m.cluster, nil
}

func (m *fakeMachines) Watch(h clusterapi.Handlers) { m.handlers = h }

// ready returns a Machine for which the virtual machine of the tests may be created.
func ready(change ...func(*fakeMachines)) *fakeMachines {
	m := &fakeMachines{
		machine: &clusterapi.Machine{Name: "m", UID: "uid-m", Cluster: "c", DataSecret: "data",
			Infrastructure: clusterapi.Reference{Group: "vm.slipway.dev", Kind: "VirtualMachine", Name: "vm"}},
		cluster: &clusterapi.Cluster{Name: "c", InfrastructureProvisioned: true},
	}
	for _, f := range change {
		f(m)
	}
	return m
}

func ownedBy(apiVersion, kind string, controls bool) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "m", UID: "uid-m", Controller: &controls}
}

// nodeOf makes a virtual machine the infrastructure of a Machine of Cluster API.
func nodeOf(vm *vmv1alpha1.VirtualMachine) {
	vm.OwnerReferences = []metav1.OwnerReference{ownedBy("cluster.x-k8s.io/v1beta2", "Machine", true)}
	vm.Labels = map[string]string{clusterv1alpha1.ClusterNameLabel: "c"}
}

func TestMachine_VMWaitsForItsPrerequisites(t *testing.T) {
	unread := fmt.Errorf("machine: %w", clusterapi.ErrNotRead)
	for name, tc := range map[string]struct {
		machines *fakeMachines
		vm       func(*vmv1alpha1.VirtualMachine)
		want     string
		message  string
	}{
		"nothing is missing":         {machines: ready(), want: "True/Succeeded"},
		"its Machine does not exist": {machines: ready(func(m *fakeMachines) { m.machine = nil }), want: "False/WaitingForMachine", message: `Machine "m" of cluster.x-k8s.io, which owns the virtual machine, does not exist`},
		"another Machine has the name": {machines: ready(func(m *fakeMachines) { m.machine.UID = "other" }), want: "False/WaitingForMachine",
			message: `Machine "m" of cluster.x-k8s.io has another UID than the Machine that owns the virtual machine`},
		"its Machine has another infrastructure": {machines: ready(func(m *fakeMachines) { m.machine.Infrastructure.Name = "victim" }), want: "False/Invalid",
			message: `spec.infrastructureRef of Machine "m" of cluster.x-k8s.io does not refer to the virtual machine`},
		"its Machine refers to another kind": {machines: ready(func(m *fakeMachines) { m.machine.Infrastructure.Kind = "VSphereMachine" }), want: "False/Invalid",
			message: "does not refer to the virtual machine"},
		"its Machine is being deleted": {machines: ready(func(m *fakeMachines) { m.machine.Deleting = true }), want: "False/WaitingForMachine", message: "is being deleted"},
		"its Machine is not created yet": {machines: ready(), vm: func(vm *vmv1alpha1.VirtualMachine) { vm.OwnerReferences = nil }, want: "False/WaitingForMachine",
			message: `label cluster.x-k8s.io/cluster-name assigns the virtual machine to Cluster "c", but no Machine owns it yet`},
		"its MachineSet has not created its Machine yet": {machines: ready(), vm: func(vm *vmv1alpha1.VirtualMachine) { vm.OwnerReferences[0].Kind = "MachineSet" },
			want: "False/WaitingForMachine", message: "no Machine owns it yet"},
		"Machines are not known": {machines: ready(func(m *fakeMachines) { m.machineErr = unread }), want: "Unknown/UnknownState", message: "could not be read yet"},
		"Clusters are not known": {machines: ready(func(m *fakeMachines) { m.clusterErr = unread }), want: "Unknown/UnknownState", message: "could not be read yet"},
		"there is no Cluster API": {machines: ready(func(m *fakeMachines) { m.machineErr = clusterapi.ErrNotServed }), want: "False/WaitingForMachine",
			message: "the management cluster does not serve cluster.x-k8s.io/v1beta2"},
		"its Cluster does not exist": {machines: ready(func(m *fakeMachines) { m.cluster = nil }), want: "False/WaitingForClusterInfrastructureReady",
			message: `Cluster "c" of cluster.x-k8s.io does not exist`},
		"its Cluster is not provisioned": {machines: ready(func(m *fakeMachines) { m.cluster.InfrastructureProvisioned = false }), want: "False/WaitingForClusterInfrastructureReady",
			message: `infrastructureProvisioned of Cluster "c" is not true yet`},
		"it has no bootstrap data": {machines: ready(func(m *fakeMachines) { m.machine.DataSecret = "" }), want: "False/WaitingForBootstrapData",
			message: `spec.bootstrap.dataSecretName of Machine "m" is not set yet`},
		"both request the same zone": {machines: ready(func(m *fakeMachines) { m.machine.FailureDomain = "a" }), vm: func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Zone = "a" }, want: "True/Succeeded"},
		"they request different zones": {machines: ready(func(m *fakeMachines) { m.machine.FailureDomain = "a" }), vm: func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.Zone = "b" },
			want: "False/Invalid", message: `Machine "m" requires failure domain "a", but the zone of the virtual machine is "b"`},
		"it is in another zone": {machines: ready(func(m *fakeMachines) { m.machine.FailureDomain = "a" }), vm: func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Zone = "b" },
			want: "False/Invalid", message: `but the zone of the virtual machine is "b"`},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.vm == nil {
				tc.vm = func(*vmv1alpha1.VirtualMachine) {}
			}
			h := newHarness(t, fresh(nodeOf, tc.vm), photon())
			h.machines = tc.machines
			h.reconciler.machines = tc.machines
			h.secret("data", map[string][]byte{"value": []byte("#cloud-config\n")})
			h.mustReconcile()
			if got := h.condition(vmv1alpha1.ConditionMachineReady); got != tc.want {
				t.Errorf("MachineReady is %s, want %s", got, tc.want)
			}
			if c := findCondition(h.vm(), vmv1alpha1.ConditionMachineReady); !strings.Contains(c.Message, tc.message) {
				t.Errorf("message %q, want %q", c.Message, tc.message)
			}
			may := tc.want == "True/Succeeded"
			if h.vm().Status.Zone == "" && len(h.provider.requests) > 0 != may {
				t.Errorf("%d requests for a virtual machine without a location, want one: %v", len(h.provider.requests), may)
			}
			for _, request := range h.provider.requests {
				if request.CanStartCreate != may || (request.Bootstrap != nil) != may || (findCondition(h.vm(), vmv1alpha1.ConditionBootstrapReady) != nil) != may {
					t.Errorf("may be created: %v, with data: %v, BootstrapReady %q; want %v, and no data before that",
						request.CanStartCreate, request.Bootstrap != nil, h.condition(vmv1alpha1.ConditionBootstrapReady), may)
				}
			}
			if got := h.condition(vmv1alpha1.ConditionCreated); !may && got != "False/WaitingForPrerequisites" {
				t.Errorf("Created is %s", got)
			}
		})
	}
}

func TestMachine_VMReportsThatItWaits(t *testing.T) {
	h := newHarness(t, fresh(nodeOf), photon())
	h.machines.machineErr = nil
	h.mustReconcile()
	if got := h.vm().Status.PrintableStatus; got != "MachineWaitingForMachine" {
		t.Errorf("STATUS is %s", got)
	}
	const wantMessage = `MachineReady is False: Machine "m" of cluster.x-k8s.io, which owns the virtual machine, does not exist`
	if c := findCondition(h.vm(), vmv1alpha1.ConditionReady); c.Reason != vmv1alpha1.ReasonWaitingForPrerequisites || c.Message != wantMessage {
		t.Errorf("Ready is %s %q, want %q", c.Reason, c.Message, wantMessage)
	}
	if got := h.condition(vmv1alpha1.ConditionStalled); got != "" {
		t.Errorf("Stalled is %s although the missing objects may be created", got)
	}
}

func TestMachine_IsReportedOnceAndKept(t *testing.T) {
	h := newHarness(t, fresh(nodeOf), photon())
	*h.machines = *ready(func(m *fakeMachines) { m.machine.DataSecret = "" })
	h.mustReconcile()
	want := vmv1alpha1.VirtualMachineOwner{APIGroup: "cluster.x-k8s.io", Name: "m"}
	if diff := cmp.Diff(&want, h.vm().Status.Machine); diff != "" {
		t.Errorf("status.machine (-want +got):\n%s", diff)
	}
	const event = `Normal MachineFound: The virtual machine is the infrastructure of Machine "m" of cluster.x-k8s.io`
	if got := h.events.take(); !slices.Contains(got, event) {
		t.Errorf("events %q, want %q", got, event)
	}
	h.machines.machine.DataSecret = "data"
	h.secret("data", map[string][]byte{"value": []byte("{}"), "format": []byte("ignition")})
	h.mustReconcile()
	if got := h.events.take(); slices.Contains(got, event) {
		t.Errorf("events %q, want it once", got)
	}
	h.machines.machine.Infrastructure.Name = "other"
	h.mustReconcile()
	if h.vm().Status.Machine == nil {
		t.Error("the Machine was removed from the status after it referred to another virtual machine")
	}
}

func TestMachine_IsIgnoredIfItDoesNotReferToTheVM(t *testing.T) {
	h := newHarness(t, fresh(nodeOf), photon())
	*h.machines = *ready(func(m *fakeMachines) { m.machine.Infrastructure.Name = "victim"; m.machine.FailureDomain = "theirs" })
	h.secret("data", map[string][]byte{"value": []byte("hunter2")})
	h.mustReconcile()
	if got := h.vm().Status.Machine; got != nil || len(h.provider.requests) > 0 {
		t.Errorf("status.machine is %v, %d requests; want the Machine ignored", got, len(h.provider.requests))
	}
	h.api.edit("vm", func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.InstanceUUID = "theirs" })
	h.mustReconcile()
	if got := h.provider.requests[0]; got.Zone != "" || got.CanStartCreate {
		t.Errorf("zone %q, may be created %v: want the Machine ignored for an adopted VM", got.Zone, got.CanStartCreate)
	}
	for _, a := range h.host.Actions() {
		if a.GetVerb() == "get" && a.GetResource().Resource == "secrets" {
			t.Error("a Secret was read for a virtual machine that only claims to be owned by a Machine")
		}
	}
}

func TestMachine_ZoneOverridesTheSpec(t *testing.T) {
	h := newHarness(t, fresh(nodeOf), photon())
	*h.machines = *ready(func(m *fakeMachines) { m.machine.FailureDomain = "b" })
	h.secret("data", map[string][]byte{"value": []byte("#!x")})
	h.mustReconcile()
	if got := h.provider.requests[0]; got.Zone != "b" || got.VM.Spec.Zone != "" || h.vm().Spec.Zone != "" {
		t.Errorf("zone %q is requested, spec has %q; want b, and spec unchanged", got.Zone, h.vm().Spec.Zone)
	}
}

func TestMachine_PauseByClusterAPIStopsReconciles(t *testing.T) {
	annotated := func(vm *vmv1alpha1.VirtualMachine) {
		vm.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""}
	}
	for name, tc := range map[string]struct {
		vm       []func(*vmv1alpha1.VirtualMachine)
		machines *fakeMachines
		message  string
	}{
		"by the annotation": {[]func(*vmv1alpha1.VirtualMachine){annotated}, &fakeMachines{}, "by annotation cluster.x-k8s.io/paused"},
		"by its Cluster":    {[]func(*vmv1alpha1.VirtualMachine){nodeOf}, ready(func(m *fakeMachines) { m.cluster.Paused = true }), `by spec.paused of Cluster "c"`},
		"before its Machine is created": {[]func(*vmv1alpha1.VirtualMachine){nodeOf, func(vm *vmv1alpha1.VirtualMachine) { vm.OwnerReferences[0].Kind = "MachineSet" }},
			ready(func(m *fakeMachines) { m.machine, m.cluster.Paused = nil, true }), `by spec.paused of Cluster "c"`},
	} {
		t.Run(name, func(t *testing.T) {
			for _, deleting := range []bool{false, true} {
				h := newHarness(t, fresh(append(tc.vm, func(vm *vmv1alpha1.VirtualMachine) {
					if deleting {
						vm.DeletionTimestamp = &metav1.Time{Time: vm.CreationTimestamp.Time}
					}
				})...), photon())
				h.reconciler.machines = tc.machines
				h.mustReconcile()
				if c := findCondition(h.vm(), vmv1alpha1.ConditionPaused); c == nil || c.Status != "True" || !strings.HasSuffix(c.Message, tc.message) {
					t.Errorf("deleting %v: Paused is %v, want True %q", deleting, c, tc.message)
				}
				if len(h.provider.requests) > 0 || h.provider.deletes > 0 {
					t.Errorf("deleting %v: the provider was called", deleting)
				}
			}
		})
	}
}

func TestMachine_PauseLastsWhileTheClusterCannotBeRead(t *testing.T) {
	h := newHarness(t, fresh(nodeOf, func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Zone = "a" }), photon())
	*h.machines = *ready(func(m *fakeMachines) { m.cluster.Paused = true })
	h.secret("data", map[string][]byte{"value": []byte("#!x")})
	h.mustReconcile()
	before := h.vm().ResourceVersion
	h.machines.clusterErr = clusterapi.ErrNotRead
	h.mustReconcile()
	if len(h.provider.requests) > 0 || h.vm().ResourceVersion != before {
		t.Errorf("the provider was called %d times, version %s; want no calls and no writes", len(h.provider.requests), h.vm().ResourceVersion)
	}
	h.machines.clusterErr = nil
	h.machines.cluster.Paused = false
	h.mustReconcile()
	if len(h.provider.requests) != 1 || findCondition(h.vm(), vmv1alpha1.ConditionPaused) != nil {
		t.Errorf("the provider was called %d times, Paused %q; want it to continue", len(h.provider.requests), h.condition(vmv1alpha1.ConditionPaused))
	}
	h.machines.clusterErr = errors.Join(clusterapi.ErrNotRead)
	h.mustReconcile()
	if len(h.provider.requests) != 2 {
		t.Error("a virtual machine that is not paused waits for its Cluster")
	}
}
