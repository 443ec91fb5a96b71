// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// contentOf returns the files with the content of a VM's disks.
func contentOf(t *testing.T, ready vcenter.Ready, req *provider.Request) []string {
	t.Helper()
	devices, err := objectOf(t, ready, req).Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		var p object.DatastorePath
		files := observe.DiskFiles(d.GetVirtualDevice().Backing)
		p.FromString(files[len(files)-1]) // the base file, without snapshots
		out = append(out, strings.Replace(p.Path, ".vmdk", "-flat.vmdk", 1))
	}
	return out
}

func TestRevert_RestoresTheContentOfTheDisks(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	disks := contentOf(t, ready, req)
	write := func(text string) {
		t.Helper()
		for _, file := range disks {
			if err := f.ds.Upload(t.Context(), strings.NewReader(text), file, &soap.DefaultUpload); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func() (all []string) {
		t.Helper()
		for _, file := range disks {
			r, _, err := f.ds.Download(t.Context(), file, &soap.DefaultDownload)
			if err != nil {
				t.Fatal(err)
			}
			data, err := io.ReadAll(r)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(data))
		}
		return all
	}
	write("version 1")
	first := l.mustTakeSnapshot(req, "first")
	write("version 2")
	l.mustTakeSnapshot(req, "second")
	write("version 3")

	l.restoreObjects(map[string]int32{"first": 2})
	revertTo(req, first)
	l.until("the VM is reverted", func() bool {
		return req.VM.Spec.CurrentSnapshotName == "" && vmSummary(t, ready, req) == "poweredOff 2"
	}, req)
	l.untilIdle(req)
	checkNoOperation(t, p, req)
	if diff := cmp.Diff(disks, contentOf(t, ready, req)); diff != "" {
		t.Errorf("disks (-before +after):\n%s", diff)
	}
	for i, got := range read() {
		if got != "version 1" {
			t.Errorf("disk %s has %q after the revert", disks[i], got)
		}
	}
	l.remove(req)
}

func TestSnapshotRemoval_ConsolidatesDisks(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	one, two := l.mustTakeSnapshot(req, "one"), l.mustTakeSnapshot(req, "two")
	lock := func(value string) { setExtraConfig(t, ready, req, strict.LockedDisks, value) }
	consolidation := func() *metav1.Condition {
		return meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionDisksConsolidated)
	}
	lock("true") // like a backup
	l.deleteSnapshot(one)
	l.until("the pending consolidation is reported", func() bool { return consolidation() != nil }, req)
	if c := consolidation(); c.Status != metav1.ConditionFalse || c.Reason != vmv1alpha1.ReasonConsolidationNeeded {
		t.Errorf("condition %+v", c)
	}
	l.untilIdle(req)
	checkNoOperation(t, p, req)
	if n := counted.snapshot()["ConsolidateVMDisks_Task"]; n != 1 {
		t.Errorf("consolidated %d times, want once after a removal", n)
	}
	lock("")
	l.deleteSnapshot(two)
	l.until("no consolidation is pending", func() bool { return consolidation() == nil }, req)
	if n := counted.snapshot()["ConsolidateVMDisks_Task"]; n != 2 {
		t.Errorf("consolidated by %d calls, want one more", n)
	}
	l.remove(req)
}

func TestSnapshotRemoval_FailsIfTheSnapshotRemains(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", templateImage())
	l.until("the VM runs", isRunning(req), req)
	one := l.mustTakeSnapshot(req, "one")
	setExtraConfig(t, ready, req, strict.StuckSnapshots, "true")
	message, _ := eventual(l, func(ctx context.Context) (string, error) {
		one.Now = time.Now()
		err := l.p.RemoveSnapshot(ctx, one)
		if err != nil && strings.Contains(err.Error(), "after its removal") {
			return err.Error(), nil
		}
		return "", err
	})
	if n := counted.snapshot()["RemoveSnapshot_Task"]; n != 1 || !strings.Contains(message, "snapshot "+one.UniqueID+" of vm-") {
		t.Errorf("removed by %d calls, message %q", n, message)
	}
	setExtraConfig(t, ready, req, strict.StuckSnapshots, "")
	l.deleteSnapshot(one)
	l.remove(req)
}

// setExtraConfig changes an advanced setting of a VM in vCenter.
func setExtraConfig(t *testing.T, ready vcenter.Ready, req *provider.Request, key, value string) {
	t.Helper()
	spec := types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: key, Value: value}}}
	task, err := objectOf(t, ready, req).Reconfigure(t.Context(), spec)
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}
