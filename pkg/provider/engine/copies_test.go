// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// A removed host, an unregistered VM, or a VM in another vCenter does not prove that the VM is deleted.
func TestRecreate_NeedsConfirmationThatTheVMIsDeleted(t *testing.T) {
	gone := func(req *provider.Request) {
		req.VM.Annotations = map[string]string{vmv1alpha1.AnnotationConfirmedMissing: req.VM.Status.UniqueID}
	}
	for name, tc := range map[string]struct {
		event     func(*fake.VM)
		confirm   func(*provider.Request)
		elsewhere string
		err       error
		// created is the Created condition an hour later. Its message contains wantMessage.
		created, wantMessage string
	}{
		"it is not visible":              {created: "Unknown Missing", wantMessage: "it may still be running"},
		"it was destroyed":               {event: func(v *fake.VM) { v.Destroyed = true }, created: "True Succeeded"},
		"its deletion is confirmed":      {confirm: gone, created: "True Succeeded"},
		"another ID is confirmed":        {confirm: func(r *provider.Request) { gone(r); r.VM.Annotations[vmv1alpha1.AnnotationConfirmedMissing] = "vm-0" }, created: "Unknown Missing"},
		"destroyed, and there is a copy": {event: func(v *fake.VM) { v.Destroyed, v.Copies = true, []string{"vm-9"} }, created: "Unknown CopyFound", wantMessage: "vm-9"},
		"confirmed, and there is a copy": {event: func(v *fake.VM) { v.Copies = []string{"vm-9"} }, confirm: gone, created: "Unknown CopyFound", wantMessage: "vm-9"},
		"another vCenter has it":         {event: func(v *fake.VM) { v.Destroyed = true }, elsewhere: "vm-7 in vCenter west", created: "Unknown CopyFound", wantMessage: "vm-7 in vCenter west"},
		"another vCenter is unreachable": {event: func(v *fake.VM) { v.Destroyed = true }, err: errors.New("vCenter west is unreachable"), created: "Unknown UnknownState", wantMessage: "vCenter west is unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := fake.New()
				s := &testSetup{t: t, driver: d}
				s.Engine = engine.New(engine.Options{Driver: d, FindElsewhere: func(context.Context, driver.Identity) (string, error) { return tc.elsewhere, tc.err }})
				run(t, s.Engine)
				synctest.Wait()
				req := s.runningVM("vm")
				req.VM.Spec.WhenMissing = vmv1alpha1.WhenMissingRecreate
				if tc.confirm != nil {
					tc.confirm(req)
				}
				d.Change(string(req.VM.UID), func(v *fake.VM) {
					v.Hidden = true
					if tc.event != nil {
						tc.event(v)
					}
				})
				_ = s.reconcile(req)
				time.Sleep(time.Hour)
				if len(d.VMs()[string(req.VM.UID)].Copies) == 0 && tc.confirm != nil {
					d.Forget(string(req.VM.UID)) // so that it can be recreated
				}
				_ = s.reconcile(req)
				if got := created(req); got != tc.created {
					t.Errorf("Created %s, want %s", got, tc.created)
				}
				if c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated); !strings.Contains(c.Message, tc.wantMessage) {
					t.Errorf("message %q, want %q in it", c.Message, tc.wantMessage)
				}
				want := 1
				if tc.created == "True Succeeded" {
					want = 2
				}
				if n := d.CreatedCount(); n != want {
					t.Errorf("%d VMs were created, want %d", n, want)
				}
			})
		})
	}
}

func TestWhenMissingWait_DoesNotRecreateADeletedVM(t *testing.T) {
	for name, tc := range map[string]struct {
		whenMissing          vmv1alpha1.WhenMissing
		destroyed, confirmed bool
	}{
		"destroyed":             {whenMissing: vmv1alpha1.WhenMissingWait, destroyed: true},
		"confirmed":             {whenMissing: vmv1alpha1.WhenMissingWait, confirmed: true},
		"destroyed, by default": {destroyed: true},
		"confirmed, by default": {confirmed: true},
	} {
		t.Run(name, func(t *testing.T) {
			runInBubble(t, func(s *testSetup) {
				req := s.runningVM("vm")
				req.VM.Spec.WhenMissing = tc.whenMissing
				if tc.confirmed {
					req.VM.Annotations = map[string]string{vmv1alpha1.AnnotationConfirmedMissing: req.VM.Status.UniqueID}
				}
				s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.Hidden, v.Destroyed = true, tc.destroyed })
				for range 2 {
					if err := s.reconcile(req); err != nil || created(req) != "Unknown Missing" {
						t.Errorf("error %v, Created %s; want Unknown Missing", err, created(req))
					}
					time.Sleep(time.Hour)
				}
				c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
				if wantMessage := "it is not recreated"; !strings.Contains(c.Message, wantMessage) {
					t.Errorf("message %q, want %q in it", c.Message, wantMessage)
				}
				if n := s.driver.CreatedCount(); n != 1 {
					t.Errorf("%d VMs were created, want only the first", n)
				}
			})
		})
	}
}

// One of the copies may be the VM, so an administrator must decide.
func TestDeletion_WaitsWhileACopyMayBeTheVM(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.Hidden, v.Copies = true, []string{"vm-9"} })
		_ = s.remove(req)
		time.Sleep(time.Hour)
		err := s.remove(req)
		if _, again := provider.AsRequeue(err); !again || created(req) != "Unknown CopyFound" {
			t.Errorf("an hour later: error %v, Created %s; want a requeue and CopyFound", err, created(req))
		}
		req.VM.Annotations = map[string]string{vmv1alpha1.AnnotationConfirmedMissing: req.VM.Status.UniqueID}
		if err := s.remove(req); err != nil || s.driver.OperationCount(driver.KindDelete) != 0 {
			t.Errorf("after the confirmation: error %v, %d deletes; want the object deleted and no VM deleted", err, s.driver.OperationCount(driver.KindDelete))
		}
	})
}

// After a process was killed between the destroy and the status update, the next process knows only the status.
func TestDeletion_WritesANewIDToStatusBeforeItDestroysTheVM(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.UniqueID = "fake-9" })
		err := s.remove(req)
		if _, again := provider.AsRequeue(err); !again || req.VM.Status.UniqueID != "fake-9" || s.driver.OperationCount(driver.KindPowerOff) != 0 {
			t.Fatalf("error %v, uniqueID %s; want a requeue and fake-9 before the power off", err, req.VM.Status.UniqueID)
		}
		if err := s.remove(req); err != nil || s.driver.OperationCount(driver.KindDelete) != 1 {
			t.Errorf("error %v, %d VMs were destroyed, want 1", err, s.driver.OperationCount(driver.KindDelete))
		}
	})
}

// If a VM is missing only in the inventory, its files look like the files of a failed create.
func TestLeftovers_AreRemovedOnlyIfTheVMNeverExistedOrIsDestroyed(t *testing.T) {
	for name, tc := range map[string]struct {
		never bool
		event func(*fake.VM)
		// want is the number of removals when the object may be deleted.
		want int
	}{
		"never created": {never: true, want: 1},
		"not visible":   {event: func(v *fake.VM) { v.Hidden = true }},
		"destroyed":     {event: func(v *fake.VM) { v.Hidden, v.Destroyed = true, true }, want: 1},
		"exists":        {want: 1}, // the destroy
	} {
		t.Run(name, func(t *testing.T) {
			runInBubble(t, func(s *testSetup) {
				req := newRequest("vm")
				if !tc.never {
					req = s.runningVM("vm")
				}
				req.FastDeploy = vmv1alpha1.FastDeployDirect
				if tc.event != nil {
					s.driver.Change(string(req.VM.UID), tc.event)
				}
				req.VM.DeletionTimestamp = new(metav1.Now())
				err := s.remove(req)
				if after, again := provider.AsRequeue(err); again {
					if n := s.driver.OperationCount(driver.KindDelete); n != 0 {
						t.Errorf("%d removals within the grace period, want none", n)
					}
					time.Sleep(after)
					err = s.remove(req)
				}
				if n := s.driver.OperationCount(driver.KindDelete); err != nil || n != tc.want {
					t.Errorf("error %v, %d removals; want %d", err, n, tc.want)
				}
			})
		})
	}
}

// rediscoveringDriver is a hypervisor in which a search finds VMs that the inventory does not have. This happens if a
// host is added again, because vCenter puts its VMs into another folder.
type rediscoveringDriver struct {
	*fake.Driver
	back []string
}

func (d *rediscoveringDriver) Search(ctx context.Context, id driver.Identity) (driver.SearchResult, error) {
	if slices.Contains(d.back, id.InstanceUUID) {
		d.Change(id.InstanceUUID, func(v *fake.VM) { v.Hidden = false })
	}
	return d.Driver.Search(ctx, id)
}

func TestSearch_ClearsTheAbsenceOfAVMThatItFinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &rediscoveringDriver{Driver: fake.New()}
		s := &testSetup{t: t, driver: d.Driver, Engine: engine.New(engine.Options{Driver: d, Limits: engine.Limits{Creates: 100}})}
		run(t, s.Engine)
		synctest.Wait()
		var missing []*provider.Request
		for i := range 7 {
			req := s.runningVM(fmt.Sprintf("vm-%d", i))
			s.hide(req, true)
			missing = append(missing, req)
		}
		for _, req := range missing {
			_ = s.reconcile(req)
		}
		if n, many := s.Missing(); n != len(missing) || !many {
			t.Fatalf("%d missing, many: %t; want %d and true", n, many, len(missing))
		}
		time.Sleep(time.Hour)
		for _, req := range missing {
			d.back = append(d.back, string(req.VM.UID))
			if err := s.reconcile(req); err != nil || created(req) != "True Succeeded" {
				t.Fatalf("%s has reappeared: error %v, Created %s", req.VM.Name, err, created(req))
			}
		}
		if n, many := s.Missing(); n != 0 || many {
			t.Errorf("%d missing, many: %t; want none", n, many)
		}
		if err := s.remove(missing[0]); err != nil {
			t.Errorf("deletion of a reappeared VM = %v, want success", err)
		}
	})
}
