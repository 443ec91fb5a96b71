// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// keptRecord returns the record in a vSphere VM that was reverted to a snapshot of vm.
func keptRecord(t *testing.T, vm *vmv1alpha1.VirtualMachine) *provider.StoredSnapshotRecord {
	t.Helper()
	text, err := vmrecord.Of(vm).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &provider.StoredSnapshotRecord{UID: "uid-before", Record: text}
}

// atSnapshot sets the virtual machine to its state at the snapshot.
func atSnapshot(vm *vmv1alpha1.VirtualMachine) {
	vm.Labels = map[string]string{"release": "1", "gone": "x"}
	vm.Annotations = map[string]string{"note": "old", "x.protected/a": "then"}
	vm.Spec.CPU.Sockets, vm.Spec.PowerState = 2, vmv1alpha1.PoweredOn
}

func reverts(vm *vmv1alpha1.VirtualMachine) {
	vm.Labels = map[string]string{"release": "2", "new": "y"}
	vm.Annotations = map[string]string{"note": "new", "x.protected/b": "now", "kubectl.kubernetes.io/last-applied-configuration": "{}", vmv1alpha1.AnnotationReverting: "{}"}
	vm.Spec.CPU.Sockets, vm.Spec.CurrentSnapshotName = 4, "before"
	vm.Spec.ProviderID = "vsphere://42"
	vm.Status.PowerState = vmv1alpha1.PoweredOff
}

func TestRevert_RestoresTheObject(t *testing.T) {
	h := newHarness(t, running(reverts), photon())
	h.provider.reverted = keptRecord(t, running(atSnapshot))
	h.mustReconcile()
	vm := h.vm()
	got := []any{vm.Spec.CPU.Sockets, vm.Spec.PowerState, vm.Spec.CurrentSnapshotName, vm.Spec.ProviderID, vm.Labels, vm.Annotations, h.condition(vmv1alpha1.ConditionSnapshotSynced)}
	want := []any{
		int32(2), vmv1alpha1.PoweredOff, "", "vsphere://42", map[string]string{"release": "1", "gone": "x"},
		map[string]string{"note": "old", "x.protected/b": "now", "kubectl.kubernetes.io/last-applied-configuration": "{}"}, "True/Succeeded",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("size, power, request, identity, labels, annotations and condition (-want +got):\n%s", diff)
	}
	if h.api.calls["update virtualmachines"] != 1 {
		t.Errorf("calls %v, want one write of the object", h.api.calls)
	}
}

func TestRevert_IsChargedBeforeVSphereBeginsIt(t *testing.T) {
	refused := apierrors.NewForbidden(vmv1alpha1.Resource("virtualmachines"), "vm", errTest)
	for name, tc := range map[string]struct {
		fails       string
		change      func(*vmv1alpha1.VirtualMachine)
		wantMessage string
		want        string
	}{
		"accepted": {want: `"sockets":2`},
		"refused":  {fails: "dry-run update virtualmachines", wantMessage: "refuses its object as of the snapshot", want: "{}"},
		"too much": {fails: "update virtualmachines", wantMessage: "cannot be charged", want: "{}"},
		"withdrawn": {
			change: func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.CurrentSnapshotName = "" }, wantMessage: "no longer requested", want: "{}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(reverts), photon(), snapshot())
			h.mustReconcile()
			to := h.provider.requests[0].Revert
			if to == nil || to.Admit == nil {
				t.Fatalf("the target is %+v, want one with a check", to)
			}
			if tc.change != nil {
				h.api.edit("vm", tc.change)
			}
			if tc.fails != "" {
				h.api.fail[tc.fails] = refused
			}
			err := to.Admit(t.Context(), keptRecord(t, running(atSnapshot)).Record)
			if (err == nil) != (tc.wantMessage == "") || err != nil && !strings.Contains(err.Error(), tc.wantMessage) {
				t.Errorf("error %v, want %q", err, tc.wantMessage)
			}
			vm := h.vm()
			if got := vm.Annotations[vmv1alpha1.AnnotationReverting]; !strings.Contains(got, tc.want) {
				t.Errorf("charged spec %s, want %s", got, tc.want)
			}
			if vm.Spec.CPU.Sockets != 4 || vm.Labels["release"] != "2" {
				t.Errorf("the object was changed: %+v", vm.Spec)
			}
		})
	}
}

func TestRevert_IsNotChargedAfterItIsWithdrawn(t *testing.T) {
	h := newHarness(t, running(reverts, func(vm *vmv1alpha1.VirtualMachine) { vm.Spec.CurrentSnapshotName = "" }), photon())
	h.mustReconcile()
	if got, ok := h.vm().Annotations[vmv1alpha1.AnnotationReverting]; ok {
		t.Errorf("%s is still charged", got)
	}
}

// A user who may revert a virtual machine may not be privileged.
func TestRevert_DoesNotChangePrivilegedAnnotations(t *testing.T) {
	const remove, powerOn = vmv1alpha1.CheckDeletePrefix, vmv1alpha1.CheckPowerOnPrefix
	h := newHarness(t, running(reverts, func(vm *vmv1alpha1.VirtualMachine) {
		vm.Annotations = map[string]string{remove + "audit": "now", powerOn + "cmdb": "now"}
	}), photon())
	h.provider.reverted = keptRecord(t, running(atSnapshot, func(vm *vmv1alpha1.VirtualMachine) {
		vm.Annotations = map[string]string{"note": "old", remove + "backup": "then", powerOn + "cmdb": "then", "Protected/a": "then"}
	}))
	h.mustReconcile()
	want := map[string]string{"note": "old", remove + "audit": "now", powerOn + "cmdb": "now"}
	if diff := cmp.Diff(want, h.vm().Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// Only its condition shows that a revert has begun. The object is restored later because of that condition.
func TestRevert_InProgressSurvivesADeletedSnapshot(t *testing.T) {
	for name, err := range map[string]error{"in progress": provider.ErrReconcileInProgress, "vSphere was not read": provider.ErrUnknownState} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(reverts, func(vm *vmv1alpha1.VirtualMachine) {
				setFalse(vm, time.Unix(0, 0), vmv1alpha1.ConditionSnapshotSynced, vmv1alpha1.ReasonReverting, "")
			}), photon())
			h.provider.update = func(*provider.Request) (<-chan error, error) { return nil, err }
			h.mustReconcile()
			if got := h.condition(vmv1alpha1.ConditionSnapshotSynced); got != "False/Reverting" {
				t.Errorf("condition %q, want False/Reverting", got)
			}
		})
	}
}

func TestRevert_ReportsWhyTheObjectCannotBeRestored(t *testing.T) {
	another := func(vm *vmv1alpha1.VirtualMachine) { atSnapshot(vm); vm.UID = "another" }
	for name, tc := range map[string]struct {
		kept        *provider.StoredSnapshotRecord
		refuses     error
		wantMessage string
	}{
		"a quota is exceeded":              {keptRecord(t, running(atSnapshot)), apierrors.NewForbidden(vmv1alpha1.Resource("virtualmachines"), "vm", errTest), "retrying"},
		"the record cannot be read":        {&provider.StoredSnapshotRecord{UID: "uid-before", Record: "%"}, nil, "not valid base64"},
		"the record belongs to another VM": {keptRecord(t, running(another)), nil, "UID another"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(reverts), photon())
			h.provider.reverted = tc.kept
			if tc.refuses != nil {
				h.api.fail["update virtualmachines"] = tc.refuses
			}
			result := h.mustReconcile()
			vm := h.vm()
			c := findCondition(vm, vmv1alpha1.ConditionSnapshotSynced)
			if c == nil || c.Reason != vmv1alpha1.ReasonReverting || !strings.Contains(c.Message, tc.wantMessage) || result.RequeueAfter != controller.Poll {
				t.Errorf("condition %+v, requeued after %s; want %q", c, result.RequeueAfter, tc.wantMessage)
			}
			if vm.Spec.CPU.Sockets != 4 || vm.Spec.CurrentSnapshotName != "before" || vm.Labels["release"] != "2" {
				t.Errorf("the object was changed: %+v", vm.Spec)
			}
		})
	}
}

// snapshot returns a snapshot of the virtual machine that is ready.
func snapshot(change ...func(*vmv1alpha1.VirtualMachineSnapshot)) *vmv1alpha1.VirtualMachineSnapshot {
	s := &vmv1alpha1.VirtualMachineSnapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "before", UID: "uid-before"}}
	s.Spec.VMName, s.Status.UniqueID = "vm", "snapshot-1"
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: vmv1alpha1.SchemeGroupVersion.String(), Kind: "VirtualMachine", Name: "vm", UID: "uid-vm"}}
	s.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	for _, f := range change {
		f(s)
	}
	return s
}

func TestRevert_RequiresAReadySnapshotOfTheVM(t *testing.T) {
	for name, tc := range map[string]struct {
		snapshot    *vmv1alpha1.VirtualMachineSnapshot
		target      types.UID
		wantMessage string
	}{
		"ready": {snapshot(), "uid-before", ""},
		"being deleted, but requested": {snapshot(func(s *vmv1alpha1.VirtualMachineSnapshot) {
			s.DeletionTimestamp, s.Finalizers = &metav1.Time{}, []string{"x/y"}
		}), "uid-before", ""},
		"with another name":                           {snapshot(func(s *vmv1alpha1.VirtualMachineSnapshot) { s.Name = "other" }), "", "False/NotFound"},
		"of another virtual machine":                  {snapshot(func(s *vmv1alpha1.VirtualMachineSnapshot) { s.Spec.VMName = "db" }), "", "False/Invalid"},
		"of an earlier virtual machine with the name": {snapshot(func(s *vmv1alpha1.VirtualMachineSnapshot) { s.OwnerReferences[0].UID = "old" }), "", "False/Invalid"},
		"not reconciled yet":                          {snapshot(func(s *vmv1alpha1.VirtualMachineSnapshot) { s.OwnerReferences = nil }), "", "False/NotReady"},
		"with another owner too": {snapshot(func(s *vmv1alpha1.VirtualMachineSnapshot) {
			s.OwnerReferences = append([]metav1.OwnerReference{{Kind: "Backup", Name: "nightly", UID: "uid-backup"}}, s.OwnerReferences...)
		}), "uid-before", ""},
		"with another owner only, not reconciled yet": {snapshot(func(s *vmv1alpha1.VirtualMachineSnapshot) {
			s.OwnerReferences = []metav1.OwnerReference{{Kind: "Backup", Name: "nightly", UID: "uid-backup"}}
		}), "", "False/NotReady"},
		"not ready": {snapshot(func(s *vmv1alpha1.VirtualMachineSnapshot) { s.Status.Conditions = nil }), "", "False/NotReady"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, running(reverts), photon(), tc.snapshot)
			h.mustReconcile()
			req := h.provider.requests[0]
			var target types.UID
			if req.Revert != nil {
				target = req.Revert.UID
			}
			if got := h.condition(vmv1alpha1.ConditionSnapshotSynced); target != tc.target || got != tc.wantMessage {
				t.Errorf("target %q, condition %q; want %q and %q", target, got, tc.target, tc.wantMessage)
			}
		})
	}
}
