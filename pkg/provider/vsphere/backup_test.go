// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// storedRecord returns the record that is stored in req's VM.
func storedRecord(t *testing.T, ready vcenter.Ready, req *provider.Request) *vmrecord.Record {
	t.Helper()
	vm := inVCenter(t, ready)["team-a/"+req.VM.Name]
	r, err := vmrecord.Decode(observe.ExtraConfig(&vm, observe.RecordKey))
	if err != nil {
		t.Fatalf("the record of %s: %v", req.VM.Name, err)
	}
	if head := observe.RecordHead(&vm); head != vmrecord.HeadOf(req.VM) {
		t.Errorf("the head of the record of %s is %q, want %q", req.VM.Name, head, vmrecord.HeadOf(req.VM))
	}
	return r
}

// awaitBackup waits until the stored record is up to date. It returns the number of reconfigurations.
func awaitBackup(l *loop, counted *calls, req *provider.Request) int {
	l.t.Helper()
	before := counted.snapshot()["ReconfigVM_Task"]
	l.until("the record is up to date", func() bool {
		ref := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}
		return observe.RecordHead(l.p.inventory.Get(ref)) == vmrecord.HeadOf(req.VM) && isTrue(&req.VM.Status, vmv1alpha1.ConditionBackupUpToDate)
	}, req)
	for {
		req.Now = time.Now()
		ch, err := l.p.CreateOrUpdateVirtualMachineAsync(l.t.Context(), req)
		if ch == nil && err == nil {
			return counted.snapshot()["ReconfigVM_Task"] - before
		}
		if !l.wait(l.t.Context(), time.Second) {
			l.t.Fatalf("the VM is not synchronized: %v", err)
		}
	}
}

func TestBackup_NeedsNoFurtherReconfigurationOfANewVM(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			p, counted := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("kept-"+name, image)
			req.VM.Labels = map[string]string{"app": "web"}
			before := counted.snapshot()["ReconfigVM_Task"]
			l.until("the VM runs with an address", isRunning(req), req)
			if n := counted.snapshot()["ReconfigVM_Task"] - before; n > 1 {
				t.Errorf("%d reconfigurations of a new VM, want at most one, which completes it", n)
			}
			if got := storedRecord(t, ready, req); got.Labels["app"] != "web" || !isTrue(&req.VM.Status, vmv1alpha1.ConditionBackupUpToDate) {
				t.Errorf("record %+v, condition %s", got, reason(&req.VM.Status, vmv1alpha1.ConditionBackupUpToDate))
			}
			checkSteady(t, p, l, counted, req)
		})
	}
}

func TestBackup_FollowsGenerationLabelsAndAnnotations(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("followed", libraryImage())
	l.until("the VM runs with an address", isRunning(req), req)
	for name, tc := range map[string]struct {
		change func(*vmv1alpha1.VirtualMachine)
		want   int
	}{
		"a label":       {func(vm *vmv1alpha1.VirtualMachine) { vm.Labels = map[string]string{"app": "db"} }, 1},
		"an annotation": {func(vm *vmv1alpha1.VirtualMachine) { vm.Annotations = map[string]string{"note": "x"} }, 1},
		"the last-applied annotation of kubectl": {func(vm *vmv1alpha1.VirtualMachine) {
			vm.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
		}, 0},
		"status": {func(vm *vmv1alpha1.VirtualMachine) { vm.Status.NodeName = "another" }, 0},
		"a field that does not affect vSphere": {func(vm *vmv1alpha1.VirtualMachine) {
			vm.Generation, vm.Spec.RestartMode = vm.Generation+1, vmv1alpha1.PowerOpModeSoft
		}, 1},
	} {
		before := req.VM.DeepCopy()
		tc.change(req.VM)
		if n := awaitBackup(l, counted, req); n != tc.want {
			t.Errorf("%s: %d reconfigurations, want %d", name, n, tc.want)
		}
		storedRecord(t, ready, req)
		req.VM.Labels, req.VM.Annotations = before.Labels, before.Annotations
		awaitBackup(l, counted, req)
	}
	checkSteady(t, p, l, counted, req)
}

func TestBackup_IsWrittenTogetherWithOtherChanges(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("merged", libraryImage())
	l.until("the VM runs with an address", isRunning(req), req)
	req.VM.Generation++
	req.VM.Spec.CPU = &vmv1alpha1.VirtualMachineCPU{Shares: &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}}
	req.Effective.CPU.Shares = req.VM.Spec.CPU.Shares
	if n := awaitBackup(l, counted, req); n != 1 {
		t.Errorf("%d reconfigurations for shares and their record, want one", n)
	}
	if got := storedRecord(t, ready, req); got.Generation != req.VM.Generation || got.Spec.CPU == nil {
		t.Errorf("record %+v, want the shares", got)
	}
}

func TestBackup_KeepsThePreviousRecordOfATooLargeObject(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("large", libraryImage())
	l.until("the VM runs with an address", isRunning(req), req)
	req.VM.Annotations = map[string]string{}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		value := make([]byte, 600)
		for j := range value {
			value[j] = byte('!' + random.IntN(90))
		}
		req.VM.Annotations[fmt.Sprintf("n/%d", i)] = string(value)
	}
	l.until("the condition is TooLarge", func() bool {
		return reason(&req.VM.Status, vmv1alpha1.ConditionBackupUpToDate) == "False TooLarge"
	}, req)
	c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionBackupUpToDate)
	if !strings.Contains(c.Message, "limit 65536; the stored record has generation 1") {
		t.Errorf("message %q", c.Message)
	}
	checkSteady(t, p, l, counted, req)
	req.VM.Annotations = nil
	if n := awaitBackup(l, counted, req); n != 0 {
		t.Errorf("%d reconfigurations when the object equals its record again, want none", n)
	}
}

// The store was restored from a backup that is older than the last changes.
func TestBackup_PreventsChangesByAnOlderObject(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("restored", libraryImage())
	l.until("the VM runs with an address", isRunning(req), req)
	old, oldEffective := req.VM.DeepCopy(), req.Effective.DeepCopy()
	shares := &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
	req.VM.Generation, req.VM.Spec.CPU, req.Effective.CPU.Shares = 7, &vmv1alpha1.VirtualMachineCPU{Shares: shares}, shares
	awaitBackup(l, counted, req)
	newest, newestEffective := req.VM.DeepCopy(), req.Effective.DeepCopy()

	req.VM, req.Effective = old, oldEffective
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	before := counted.snapshot()
	checkHeld := func(when string) {
		t.Helper()
		req.Now = time.Now()
		ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
		if ch != nil || !provider.IsNoRequeue(err) {
			t.Fatalf("%s: started %t, error %v; want no operation", when, ch != nil, err)
		}
		if diff := cmp.Diff(before, counted.snapshot()); diff != "" {
			t.Errorf("%s: vCenter was called (-before +after):\n%s", when, diff)
		}
		for _, conditionType := range []string{vmv1alpha1.ConditionBackupUpToDate, vmv1alpha1.ConditionConfigurationSynced} {
			if got := reason(&req.VM.Status, conditionType); got != "False RecordNewer" {
				t.Errorf("%s: %s is %s, want False RecordNewer", when, conditionType, got)
			}
		}
	}
	checkHeld("older")
	req.VM.Generation = 8 // A user has changed the restored object.
	checkHeld("older, and changed since")

	// virtctl recover does the same.
	req.VM.Spec, req.Effective = newest.Spec, newestEffective
	awaitBackup(l, counted, req)
	if got := storedRecord(t, ready, req); got.Generation != 8 {
		t.Errorf("the record has generation %d after the object was recovered from it, want 8", got.Generation)
	}

	// The annotation confirms that the object takes precedence over its record.
	req.VM.Generation, req.VM.Spec.CPU, req.Effective.CPU.Shares = 3, nil, nil
	before = counted.snapshot()
	checkHeld("older again")
	req.VM.Annotations = map[string]string{vmv1alpha1.AnnotationOverwriteRecord: "8"}
	awaitBackup(l, counted, req)
	if got := storedRecord(t, ready, req); got.Generation != 3 || len(got.Annotations) != 0 {
		t.Errorf("record %+v, want generation 3 without the annotation", got)
	}
	checkSteady(t, p, l, counted, req)
}

// A VM that was created by a version without records is updated once.
func TestBackup_CompletesAVMOfAnOlderVersionOnce(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("before", libraryImage())
	l.until("the VM runs with an address", isRunning(req), req)
	empty := func(keys ...string) {
		t.Helper()
		ref, spec := vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID}, vimtypes.VirtualMachineConfigSpec{}
		for _, key := range keys {
			spec.ExtraConfig = append(spec.ExtraConfig, &vimtypes.OptionValue{Key: key, Value: ""})
		}
		if err := p.driver.actor.Reconfigure(t.Context(), ref, spec); err != nil {
			t.Fatal(err)
		}
	}
	empty(observe.RecordKey, observe.RecordHeadKey, observe.AdaptersKey)
	if n := awaitBackup(l, counted, req); n != 1 {
		t.Errorf("%d reconfigurations of a VM of an older version, want one", n)
	}
	storedRecord(t, ready, req)
	adapters := func() string {
		vm := inVCenter(t, ready)["team-a/before"]
		return observe.ExtraConfig(&vm, observe.AdaptersKey)
	}
	if adapters() == "" {
		t.Error("the adapters of a VM of an older version are not recorded")
	}
	checkSteady(t, p, l, counted, req)

	empty(observe.AdaptersKey)
	if n := awaitBackup(l, counted, req); n != 0 || adapters() != "" {
		t.Errorf("%d reconfigurations after another client removed a setting, adapters %q; want none", n, adapters())
	}
}
