// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// linkedRequest returns a request for a VM whose disks depend on a copy of its image.
func linkedRequest(name string, mode vmv1alpha1.PromoteDisksMode, f datastoreFiles) *provider.Request {
	req := fastRequest(name, vmv1alpha1.FastDeployLinked, cacheOf(f))
	req.VM.Spec.PromoteDisksMode = mode
	return req
}

func promotion(req *provider.Request) string {
	return strings.TrimSpace(reason(&req.VM.Status, vmv1alpha1.ConditionDiskPromotionSynced) + " " + message(&req.VM.Status, vmv1alpha1.ConditionDiskPromotionSynced))
}

// checkCopies checks that the copy of the image exists.
func (f datastoreFiles) checkCopies(t *testing.T) {
	t.Helper()
	f.t = t
	if got := f.list("images/photon-5"); !slices.Contains(got, "disk.vmdk") || !slices.Contains(got, "disk-flat.vmdk") {
		t.Errorf("the image directory contains %q", got)
	}
}

func TestPromotion_RunsOnlineAndKeepsTheCopies(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	control(t, ready, http.MethodPut, "/taskdelay?method=PromoteDisks_Task&ms=1000")
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := linkedRequest("web", "", f)
	seen := map[string]bool{}
	l.until("the VM's disks are promoted", func() bool {
		seen[promotion(req)] = true
		return isRunning(req)() && promotion(req) == "True Succeeded"
	}, req)
	if _, parents := parentsOf(t, ready, req.VM.Status.UniqueID); len(parents) > 0 {
		t.Errorf("the VM's disks depend on %q", parents)
	}
	percent := 0
	for m := range seen {
		if strings.HasPrefix(m, "False Running ") && strings.HasSuffix(m, "0 percent") {
			percent++
		}
	}
	if percent == 0 {
		t.Errorf("no progress was reported: %v", seen)
	}
	f.checkCopies(t)
	checkNoOperation(t, p, req)
	l.remove(req)
	f.checkCopies(t)
	if left := f.list(string(req.VM.UID)); left != nil {
		t.Errorf("the directory of the VM still contains %q", left)
	}
}

func TestPromotion_DependsOnModeAndState(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	vmOf := func(req *provider.Request) *object.VirtualMachine {
		return object.NewVirtualMachine(admin(t, ready).Client, vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
	}
	t.Run("disabled", func(t *testing.T) {
		l := &loop{t: t, p: l.p, wake: l.wake}
		req := linkedRequest("disabled", vmv1alpha1.PromoteDisksModeDisabled, f)
		l.until("the VM runs", isRunning(req), req)
		if got := promotion(req); got != "" || counted.snapshot()["PromoteDisks_Task"] != 0 {
			t.Errorf("condition %q, %d promotions; want none", got, counted.snapshot()["PromoteDisks_Task"])
		}
	})
	t.Run("offline", func(t *testing.T) {
		l := &loop{t: t, p: l.p, wake: l.wake}
		req := linkedRequest("offline", vmv1alpha1.PromoteDisksModeOffline, f)
		l.until("the VM runs", isRunning(req), req)
		if got, want := promotion(req), "False Pending 1 disk(s) depend on parent disks outside the virtual machine: spec.promoteDisksMode is Offline and the virtual machine is PoweredOn"; got != want {
			t.Errorf("condition %q, want %q", got, want)
		}
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		l.until("the VM's disks are promoted", func() bool { return promotion(req) == "True Succeeded" }, req)
	})
	t.Run("with a snapshot", func(t *testing.T) {
		l := &loop{t: t, p: l.p, wake: l.wake}
		req := linkedRequest("snapshot", vmv1alpha1.PromoteDisksModeDisabled, f)
		l.until("the VM runs", isRunning(req), req)
		task, err := vmOf(req).CreateSnapshot(t.Context(), "before", "", false, false)
		if err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		req.VM.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeOnline
		l.until("the promotion waits", func() bool { return strings.Contains(promotion(req), "that has snapshots") }, req)
		if task, err = vmOf(req).RemoveAllSnapshot(t.Context(), nil); err == nil {
			err = task.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		l.until("the VM's disks are promoted", func() bool { return promotion(req) == "True Succeeded" }, req)
	})
	f.checkCopies(t)
}

func TestPromotion_ReportsAFailureAndRetries(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	control(t, ready, http.MethodPut, "/permissions?entity=/DC0/vm/slipway&without=VirtualMachine.Provisioning.PromoteDisks")
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := linkedRequest("web", vmv1alpha1.PromoteDisksModeOnline, f)
	l.until("the failure is reported", func() bool {
		return isRunning(req)() && strings.HasPrefix(promotion(req), "False TaskError") && strings.Contains(promotion(req), "promoting the disks of "+req.VM.Status.UniqueID)
	}, req)
	control(t, ready, http.MethodDelete, "/permissions?entity=/DC0/vm/slipway")
	l.until("the promotion is retried", func() bool { return promotion(req) == "True Succeeded" }, req)
}

// vCenter continues a promotion after the process that requested it is killed.
func TestPromotion_IsContinuedByTheNextProcess(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"waited for": false, "cancelled by a deletion": true} {
		t.Run(name, func(t *testing.T) {
			ready := startVCenter(t)
			f := datastoreOf(t, ready)
			f.createDisk(cachedDisk)
			first, _ := startProvider(t, ready, nil)
			l := newLoop(t, first)
			req := linkedRequest("web", vmv1alpha1.PromoteDisksModeDisabled, f)
			l.until("the VM runs", isRunning(req), req)
			delay := "2000"
			if deleted {
				delay = "3600000"
			}
			control(t, ready, http.MethodPut, "/taskdelay?method=PromoteDisks_Task&ms="+delay)
			vm := object.NewVirtualMachine(admin(t, ready).Client, vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
			task, err := vm.PromoteDisks(t.Context(), true, nil) // like the first process
			if err != nil {
				t.Fatal(err)
			}
			second, counted := startProvider(t, ready, nil)
			eventually(t, "the inventory is read", second.inventory.Synced)
			l = newLoop(t, second)
			if deleted {
				req.VM.DeletionTimestamp = new(metav1.Now())
				l.remove(req)
				if _, err := task.WaitForResult(t.Context()); err == nil {
					t.Error("the promotion was not cancelled")
				}
			} else {
				req.VM.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeOnline
				l.until("the VM's disks are promoted", func() bool { return promotion(req) == "True Succeeded" }, req)
				if n := counted.snapshot()["PromoteDisks_Task"]; n != 1 {
					t.Errorf("PromoteDisks_Task was called %d times, want one call that vCenter refuses", n)
				}
			}
			f.checkCopies(t)
		})
	}
}

// A power-off must not wait for the end of a promotion.
func TestPromotion_IsCancelledForOtherOperations(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	control(t, ready, http.MethodPut, "/taskdelay?method=PromoteDisks_Task&ms=3600000")
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	for name, tc := range map[string]struct {
		change func(*provider.Request)
		done   func(*provider.Request) bool
	}{
		"power off": {func(r *provider.Request) { r.VM.Spec.PowerState = vmv1alpha1.PoweredOff },
			func(r *provider.Request) bool { return r.VM.Status.PowerState == vmv1alpha1.PoweredOff }},
		"no promotion": {func(r *provider.Request) { r.VM.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeDisabled },
			func(r *provider.Request) bool { return promotion(r) == "" }},
	} {
		t.Run(name, func(t *testing.T) {
			l := &loop{t: t, p: l.p, wake: l.wake}
			req := linkedRequest(strings.ReplaceAll(name, " ", "-"), vmv1alpha1.PromoteDisksModeOnline, f)
			l.until("the promotion is running", func() bool { return strings.HasPrefix(promotion(req), "False Running") }, req)
			tc.change(req)
			l.until(name, func() bool { return tc.done(req) }, req)
			req.VM.DeletionTimestamp = new(metav1.Now())
			l.remove(req)
		})
	}
	req := linkedRequest("deleted", vmv1alpha1.PromoteDisksModeOnline, f)
	l.until("the promotion is running", func() bool { return strings.HasPrefix(promotion(req), "False Running") }, req)
	req.VM.DeletionTimestamp = new(metav1.Now())
	l.remove(req)
	f.checkCopies(t)
}
