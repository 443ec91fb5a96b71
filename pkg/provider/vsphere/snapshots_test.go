// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ktypes "k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// snapshotOf returns a snapshot of a request's VM. Its record is the snapshot's name, because a driver does not
// read records.
func snapshotOf(of *provider.Request, name string) *provider.Snapshot {
	return &provider.Snapshot{
		NamespacedName: ktypes.NamespacedName{Namespace: "team-a", Name: name}, UID: ktypes.UID(uuid.NewString()),
		Source: keyOf(of), VM: of.VM, Record: "record-of-" + name,
	}
}

// takeSnapshot reconciles a snapshot until it exists or is refused.
func (l *loop) takeSnapshot(s *provider.Snapshot) (*provider.ObservedSnapshot, error) {
	l.t.Helper()
	return eventual(l, func(ctx context.Context) (*provider.ObservedSnapshot, error) {
		s.Now = time.Now()
		return l.p.Snapshot(ctx, s)
	})
}

// deleteSnapshot reconciles a deleted snapshot until it no longer exists.
func (l *loop) deleteSnapshot(s *provider.Snapshot) {
	l.t.Helper()
	_, err := eventual(l, func(ctx context.Context) (struct{}, error) {
		s.Now = time.Now()
		return struct{}{}, l.p.RemoveSnapshot(ctx, s)
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// eventual calls ask, and again after each event, until ask returns a final result.
func eventual[T any](l *loop, ask func(context.Context) (T, error)) (T, error) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), testTimeout)
	defer cancel()
	for {
		got, err := ask(ctx)
		var refused *provider.SnapshotRefusedError
		if err == nil || errors.As(err, &refused) || errors.Is(err, provider.ErrSnapshotMissing) {
			return got, err
		}
		after, ok := provider.AsRequeue(err)
		if !ok {
			after = -1
		}
		if !l.wait(ctx, after) {
			l.t.Fatalf("timed out; last error: %v", err)
		}
	}
}

// mustTakeSnapshot takes a snapshot and waits until it exists.
func (l *loop) mustTakeSnapshot(of *provider.Request, name string, change ...func(*provider.Snapshot)) *provider.Snapshot {
	l.t.Helper()
	s := snapshotOf(of, name)
	for _, f := range change {
		f(s)
	}
	made, err := l.takeSnapshot(s)
	if err != nil {
		l.t.Fatalf("snapshot %s: %v", name, err)
	}
	s.UniqueID = made.UniqueID
	return s
}

// restoreObjects makes the loop restore objects after a revert, like the controller. sockets maps each record to
// the number of CPU sockets that it restores.
func (l *loop) restoreObjects(sockets map[string]int32) (restored *[]string) {
	restored = &[]string{}
	l.p.restore = func(req *provider.Request, kept *provider.StoredSnapshotRecord) {
		name := strings.TrimPrefix(kept.Record, "record-of-")
		*restored = append(*restored, name)
		req.VM.Spec.CurrentSnapshotName, req.VM.Spec.PowerState = "", req.VM.Status.PowerState
		req.Effective.CPU.Sockets, req.Revert = sockets[name], nil
		meta.SetStatusCondition(&req.VM.Status.Conditions, metav1.Condition{Type: vmv1alpha1.ConditionSnapshotSynced, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded})
		l.enqueue(provider.Event{}) // A controller reconciles again after a successful write.
	}
	return restored
}

func revertTo(req *provider.Request, s *provider.Snapshot) {
	req.VM.Spec.CurrentSnapshotName = s.Name
	req.Revert = &provider.RevertTarget{Name: s.Name, UID: s.UID, UniqueID: s.UniqueID}
}

// untilIdle reconciles a request until there is nothing to do.
func (l *loop) untilIdle(req *provider.Request) {
	l.t.Helper()
	_, err := eventual(l, func(ctx context.Context) (struct{}, error) {
		req.Now = time.Now()
		ch, err := l.p.CreateOrUpdateVirtualMachineAsync(ctx, req)
		if ch != nil {
			err = provider.ErrReconcileInProgress
		}
		return struct{}{}, err
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

// vmSummary returns the power state of a VM in vSphere, its number of CPUs, and whether it has a
// snapshot record.
func vmSummary(t *testing.T, ready vcenter.Ready, req *provider.Request) string {
	t.Helper()
	var vm mo.VirtualMachine
	if err := objectOf(t, ready, req).Properties(t.Context(), objectOf(t, ready, req).Reference(), []string{"config", "runtime", "snapshot"}, &vm); err != nil {
		t.Fatal(err)
	}
	out := string(vm.Runtime.PowerState) + " " + string(rune('0'+vm.Config.Hardware.NumCPU))
	if observe.SnapshotRecord(&vm) != nil {
		out += " with a record"
	}
	return out
}

func tree(req *provider.Request) []string {
	var out []string
	names := map[string]string{}
	for _, n := range req.VM.Status.Snapshots {
		names[n.UniqueID] = n.Name
	}
	for _, n := range req.VM.Status.Snapshots {
		line := n.Name
		if n.SnapshotName == "" {
			line = "foreign " + line
		}
		if n.Parent != "" {
			line += " after " + names[n.Parent]
		}
		out = append(out, line)
	}
	return out
}

func TestRevert_RestoresTheVMAndItsObject(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, tc := range map[string]struct {
		memory bool
		want   string
	}{
		"without memory": {false, "poweredOff 2"},
		"with memory":    {true, "poweredOn 2"},
	} {
		t.Run(name, func(t *testing.T) {
			p, counted := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("web-"+string(name[5]), templateImage())
			l.until("the VM runs", isRunning(req), req)
			s := l.mustTakeSnapshot(req, "before", func(s *provider.Snapshot) { s.Memory = tc.memory })
			if got := vmSummary(t, ready, req); got != "poweredOn 2" {
				t.Errorf("after the snapshot the VM is %s, want it without a record", got)
			}
			l.untilIdle(req)
			checkNoOperation(t, p, req)
			if n := counted.snapshot()["CreateSnapshotEx_Task"]; n != 1 {
				t.Errorf("%d snapshots taken", n)
			}
			req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
			req.Effective.CPU.Sockets = 4
			l.until("the VM has 4 CPUs", func() bool { return vmSummary(t, ready, req) == "poweredOff 4" }, req)

			restored := l.restoreObjects(map[string]int32{"before": 2})
			revertTo(req, s)
			l.until("the VM is reverted", func() bool { return req.VM.Spec.CurrentSnapshotName == "" && vmSummary(t, ready, req) == tc.want }, req)
			if diff := cmp.Diff([]string{"before"}, *restored); diff != "" {
				t.Errorf("restored (-want +got):\n%s", diff)
			}
			l.untilIdle(req)
			checkNoOperation(t, p, req)
			if got := vmSummary(t, ready, req); got != tc.want {
				t.Errorf("the VM is %s, want %s", got, tc.want)
			}
			l.until("vSphere reports the size of the snapshot again", func() bool {
				n := req.VM.Status.Snapshots[0]
				return n.Occupied != nil && !n.Occupied.IsZero()
			}, req)
			if n := counted.snapshot()["RevertToSnapshot_Task"]; n != 1 {
				t.Errorf("reverted %d times", n)
			}
			l.remove(req)
		})
	}
}

func TestRevert_IsNotStartedIfTheObjectIsRefused(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	s := l.mustTakeSnapshot(req, "before")
	revertTo(req, s)
	var record string
	req.Revert.Admit = func(_ context.Context, r string) error { record = r; return errors.New("exceeded quota: team") }
	l.until("the condition has the reason", func() bool {
		c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionSnapshotSynced)
		return c != nil && strings.Contains(c.Message, "exceeded quota: team")
	}, req)
	if record != "record-of-before" {
		t.Errorf("checked with the record %q", record)
	}
	if n := counted.snapshot()["RevertToSnapshot_Task"]; n != 0 {
		t.Errorf("reverted %d times", n)
	}
	if got := vmSummary(t, ready, req); got != "poweredOn 2" {
		t.Errorf("the VM is %s", got)
	}
}

func TestSnapshots_AreReportedAsATree(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	l.mustTakeSnapshot(req, "one", func(s *provider.Snapshot) { s.Description = "before\nthe upgrade" })
	two := l.mustTakeSnapshot(req, "two", func(s *provider.Snapshot) { s.Memory = true })
	snapshot(t, objectOf(t, ready, req), "manual")
	l.until("the tree is reported", func() bool { return len(req.VM.Status.Snapshots) == 3 && req.VM.Status.CurrentSnapshot == "manual" }, req)
	if diff := cmp.Diff([]string{"one", "two after one", "foreign manual after two"}, tree(req)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"one"}, req.VM.Status.RootSnapshots); diff != "" {
		t.Errorf("roots (-want +got):\n%s", diff)
	}
	for i, least := range []int64{30 << 10, 1 << 30, 30 << 10} {
		n := req.VM.Status.Snapshots[i]
		if n.Occupied == nil || n.Occupied.Value() < least || n.CreationTime.IsZero() {
			t.Errorf("%s occupies %v, created %v, want at least %d", n.Name, n.Occupied, n.CreationTime, least)
		}
	}
	if got := req.VM.Status.Snapshots[1].PowerState; got != vmv1alpha1.PoweredOn {
		t.Errorf("two occupies %s, want at least its memory", got)
	}
	l.untilIdle(req)
	checkNoOperation(t, p, req)

	l.deleteSnapshot(two)
	l.until("the snapshot is removed", func() bool { return len(req.VM.Status.Snapshots) == 2 }, req)
	if diff := cmp.Diff([]string{"one", "foreign manual after one"}, tree(req)); diff != "" {
		t.Errorf("tree after two was removed (-want +got):\n%s", diff)
	}
	if _, err := l.takeSnapshot(two); !errors.Is(err, provider.ErrSnapshotMissing) {
		t.Errorf("a removed snapshot: %v, want ErrSnapshotMissing", err)
	}
	task, err := objectOf(t, ready, req).RemoveAllSnapshot(t.Context(), nil)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	l.until("all snapshots are removed", func() bool { return len(req.VM.Status.Snapshots) == 0 && req.VM.Status.CurrentSnapshot == "" }, req)
	l.remove(req)
}

func TestSnapshot_WaitsForThePromotion(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := linkedRequest("web", vmv1alpha1.PromoteDisksModeOffline, f)
	l.until("the VM runs", isRunning(req), req)
	_, err := l.takeSnapshot(snapshotOf(req, "early"))
	var refused *provider.SnapshotRefusedError
	if !errors.As(err, &refused) || refused.Reason != vmv1alpha1.ReasonWaitingForPrerequisites || !strings.Contains(refused.Message, "are promoted first") {
		t.Errorf("a snapshot before the disks are promoted: %v", err)
	}
	req.VM.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeDisabled
	l.mustTakeSnapshot(req, "late")
	l.remove(req)
}

func TestSnapshot_IsTakenOnce(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	s := l.mustTakeSnapshot(req, "before")
	p.ForgetSnapshot(s.NamespacedName)
	s.UniqueID = "" // like an object that was restored from a backup
	if _, err := l.takeSnapshot(s); err != nil || counted.snapshot()["CreateSnapshotEx_Task"] != 1 {
		t.Errorf("taken again: %v, %d times", err, counted.snapshot()["CreateSnapshotEx_Task"])
	}
	l.remove(req)
}

func TestRevert_RefusesASnapshotWithoutARecord(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	snapshot(t, objectOf(t, ready, req), "manual")
	l.until("the snapshot is observed", func() bool { return len(req.VM.Status.Snapshots) == 1 }, req)
	revertTo(req, &provider.Snapshot{NamespacedName: ktypes.NamespacedName{Name: "manual"}, UID: "unknown", UniqueID: req.VM.Status.Snapshots[0].UniqueID})
	l.until("the revert is refused", func() bool {
		return strings.Contains(message(&req.VM.Status, vmv1alpha1.ConditionSnapshotSynced), "does not contain an object record")
	}, req)
	if n := counted.snapshot()["RevertToSnapshot_Task"]; n != 0 {
		t.Errorf("reverted %d times", n)
	}
	req.VM.Spec.CurrentSnapshotName, req.Revert = "", nil
	l.until("the revert is no longer requested", func() bool { return reason(&req.VM.Status, vmv1alpha1.ConditionSnapshotSynced) == "" }, req)
	l.remove(req)
}

func TestSnapshot_IsRefusedBeforeTheCall(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	vm := objectOf(t, ready, req)
	devices, err := vm.Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices {
		if disk, ok := d.(*types.VirtualDisk); ok {
			disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo).DiskMode = string(types.VirtualDiskModeIndependent_persistent)
			reconfigure(t, vm, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{
				&types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: disk},
			}})
		}
	}
	eventually(t, "the change is observed", func() bool {
		_, err := l.takeSnapshot(snapshotOf(req, "before"))
		var refused *provider.SnapshotRefusedError
		return errors.As(err, &refused) && refused.Reason == vmv1alpha1.ReasonInvalid && strings.Contains(refused.Message, "independent")
	})
	before := counted.snapshot()["CreateSnapshotEx_Task"]
	if _, err := l.takeSnapshot(snapshotOf(req, "again")); err == nil || counted.snapshot()["CreateSnapshotEx_Task"] != before {
		t.Errorf("error %v, %d calls of vSphere", err, counted.snapshot()["CreateSnapshotEx_Task"]-before)
	}
	l.remove(req)
}
