// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// call is a method of a provider.
type call func(context.Context, *provider.Request) (provider.Result, error)

func TestPowerOff_InterruptsAGuestShutdownWithAnotherMode(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		release := s.driver.Block() // the guest does not respond
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeSoft
		result, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync)
		if result.Ended == nil {
			t.Fatalf("no power off was started: %v", err)
		}
		if _, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync); !errors.Is(err, provider.ErrReconcileInProgress) || len(result.Ended) != 0 {
			t.Errorf("reconcile without a change = %v, %d waits ended; want ErrReconcileInProgress and none", err, len(result.Ended))
		}
		req.VM.Spec.PowerOffMode = vmv1alpha1.PowerOpModeHard
		if _, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("reconcile = %v, want ErrReconcileInProgress", err)
		}
		if err := <-result.Ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the wait for the guest ended with %v, want it cancelled", err)
		}
		release()
		if err := s.reconcile(req); err != nil || req.VM.Status.PowerState != vmv1alpha1.PoweredOff || s.driver.OperationCount(driver.KindPowerOff) != 1 {
			t.Errorf("error %v, power state %s, %d power offs; want it powered off immediately", err, req.VM.Status.PowerState, s.driver.OperationCount(driver.KindPowerOff))
		}
	})
}

func TestOperation_StartsAgainImmediatelyAfterAnInterruption(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		release := s.driver.Block() // the guest does not respond
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeSoft
		result, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync)
		if result.Ended == nil {
			t.Fatalf("no power off was started: %v", err)
		}
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
		if _, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("reconcile = %v, want ErrReconcileInProgress", err)
		}
		if err := <-result.Ended; !errors.Is(err, context.Canceled) {
			t.Fatalf("the wait for the guest ended with %v, want it cancelled", err)
		}
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		again, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync)
		if again.Ended == nil {
			t.Errorf("reconcile = %v, want the power off started again immediately", err)
		}
		release()
	})
}

func TestDeletion_InterruptsAGuestShutdownWithAnotherMode(t *testing.T) {
	for mode, ends := range map[vmv1alpha1.PowerOpMode]bool{vmv1alpha1.PowerOpModeTrySoft: false, vmv1alpha1.PowerOpModeHard: true} {
		t.Run(string(mode), func(t *testing.T) {
			runInBubble(t, func(s *testSetup) {
				req := s.runningVM("vm")
				release := s.driver.Block()
				req.VM.Spec.PowerOffMode = vmv1alpha1.PowerOpModeTrySoft
				if _, err := s.reconcileOnce(req, s.DeleteVirtualMachine); !errors.Is(err, provider.ErrReconcileInProgress) {
					t.Fatalf("deletion = %v, want ErrReconcileInProgress", err)
				}
				req.VM.Spec.PowerOffMode = mode
				again, err := s.reconcileOnce(req, s.DeleteVirtualMachine)
				if !errors.Is(err, provider.ErrReconcileInProgress) || again.Ended != nil {
					t.Errorf("deletion during a guest shutdown = %v, want ErrReconcileInProgress", err)
				}
				release()
				synctest.Wait()
				if n := s.driver.OperationCount(driver.KindPowerOff); (n == 0) != ends {
					t.Errorf("%d guest shutdowns were completed; want interrupted: %t", n, ends)
				}
				if err := s.remove(req); err != nil || len(s.driver.VMs()) != 0 {
					t.Errorf("deletion = %v, %d VMs left; want none", err, len(s.driver.VMs()))
				}
			})
		})
	}
}

// A deletion with a shorter timeout does not wait for the longer one.
func TestDeletion_InterruptsAGuestShutdownWithAnotherTimeout(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		release := s.driver.Block()
		req.VM.Spec.Deletion = &vmv1alpha1.VirtualMachineDeletion{TimeoutSeconds: 600}
		if _, err := s.reconcileOnce(req, s.DeleteVirtualMachine); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Fatalf("deletion = %v, want ErrReconcileInProgress", err)
		}
		if _, err := s.reconcileOnce(req, s.DeleteVirtualMachine); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("reconcile without a change = %v, want ErrReconcileInProgress", err)
		}
		req.VM.Spec.Deletion = &vmv1alpha1.VirtualMachineDeletion{TimeoutSeconds: 5}
		if _, err := s.reconcileOnce(req, s.DeleteVirtualMachine); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("reconcile with a shorter timeout = %v, want ErrReconcileInProgress", err)
		}
		release()
		synctest.Wait()
		if n := s.driver.OperationCount(driver.KindPowerOff); n != 0 {
			t.Errorf("%d power offs with the longer timeout were completed, want it interrupted", n)
		}
		if err := s.remove(req); err != nil || len(s.driver.VMs()) != 0 {
			t.Errorf("deletion = %v, %d VMs left; want none", err, len(s.driver.VMs()))
		}
	})
}

// If the hypervisor returns a value differently, it would be set again in every reconcile.
func TestOperation_WithoutEffectIsRetriedWithIncreasingDelays(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		if err := s.reconcile(req); err != nil {
			t.Fatal(err)
		}
		s.driver.Stubborn(string(req.VM.UID), true)
		req.Effective = req.Effective.DeepCopy()
		req.Effective.GuestID = "otherGuest"
		before, began := s.driver.OperationCount(driver.KindReconfigure), time.Now()
		for time.Since(began) < time.Hour {
			err := s.reconcile(req)
			after, again := provider.AsRequeue(err)
			if !again {
				t.Fatalf("reconcile = %v, want a delay", err)
			}
			time.Sleep(max(after, time.Millisecond))
		}
		if n := s.driver.OperationCount(driver.KindReconfigure) - before; n > 15 {
			t.Errorf("%d reconfigurations in an hour, want few", n)
		}
		_ = s.reconcile(req)
		c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionConfigurationSynced)
		if c.Reason != vmv1alpha1.ReasonNotEffective || !strings.Contains(c.Message, `spec was set to "this"`) {
			t.Errorf("condition %+v, want the set and the observed value", c)
		}
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
		if _ = s.reconcile(req); req.VM.Status.PowerState != vmv1alpha1.PoweredOn {
			t.Errorf("power state %s: a change without effect prevents power on", req.VM.Status.PowerState)
		}
		s.driver.Stubborn(string(req.VM.UID), false)
	})
}

// Another client frequently writes values into annotations.
func TestBackup_FrequentAnnotationsCauseOneReconfigurationPerMinute(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		seen := func() int { return s.driver.OperationCount(driver.KindReconfigure) }
		backedUp := func() string {
			c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionBackupUpToDate)
			return string(c.Status) + " " + c.Reason
		}
		before := seen()
		for second := range 180 {
			req.VM.Annotations = map[string]string{"seen": strconv.Itoa(second)}
			err := s.reconcile(req)
			if after, again := provider.AsRequeue(err); err != nil && (!again || after <= 0 || after > time.Minute) {
				t.Fatalf("second %d: %v, want a requeue within a minute", second, err)
			}
			time.Sleep(time.Second)
		}
		if n := seen() - before; n != 3 {
			t.Errorf("%d reconfigurations in 3 minutes, want one per minute", n)
		}
		if got := backedUp(); got != "False Pending" {
			t.Errorf("BackupUpToDate is %s while the record is outdated", got)
		}

		before = seen()
		req.VM.Generation++
		if err := s.reconcile(req); err != nil || seen() != before+1 || backedUp() != "True Succeeded" {
			t.Errorf("error %v, %d reconfigurations, BackupUpToDate %s; want a changed spec recorded immediately", err, seen()-before, backedUp())
		}

		req.VM.Annotations = map[string]string{"seen": "last"}
		after, again := provider.AsRequeue(s.reconcile(req))
		if !again {
			t.Fatal("no requeue for the pending record")
		}
		time.Sleep(after)
		if err := s.reconcile(req); err != nil || backedUp() != "True Succeeded" {
			t.Errorf("after the delay: error %v, BackupUpToDate %s", err, backedUp())
		}
	})
}

func TestOutcome_DoesNotApplyToALaterObjectOfTheSameName(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		s.driver.FailNext(driver.KindCreate, errors.New("no space"))
		req := newRequest("vm")
		if _, again := provider.AsRequeue(s.reconcile(req)); !again || created(req) != "False Error" {
			t.Fatalf("Created %s, want the failure and a delay", created(req))
		}
		next := newRequest("vm")
		if err := s.reconcile(next); err != nil || created(next) != "True Succeeded" {
			t.Errorf("error %v, Created %s; want the VM of the next object created immediately", err, created(next))
		}
	})
}

func TestCreate_IsRetriedImmediatelyAfterAChangeOfTheSpec(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		s.driver.FailNext(driver.KindCreate, errors.New("no space"))
		req := newRequest("vm")
		_ = s.reconcile(req)
		req.Effective = &vmv1alpha1.VirtualMachineInstanceSpec{GuestID: "smaller"}
		if err := s.reconcile(req); err != nil || created(req) != "True Succeeded" {
			t.Errorf("error %v, Created %s; want it created", err, created(req))
		}
	})
}

// A virtual machine that receives an offer may have been deleted or paused in the meantime. If no other operation runs,
// only the expiry of the offer wakes the next object.
func TestSlots_UnusedSlotGoesToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake.New()
		e := engine.New(engine.Options{Driver: d, Limits: engine.Limits{Creates: 1}, OfferTimeout: 30 * time.Second})
		run(t, e)
		synctest.Wait()
		var events []string
		watching, stop := context.WithCancel(t.Context())
		defer stop()
		go e.Watch(watching, func(h provider.Event) { events = append(events, h.Key.Name) })
		s := &testSetup{t: t, Engine: e, driver: d}
		release := d.Block()
		if r, err := s.reconcileOnce(newRequest("first"), e.CreateOrUpdateVirtualMachineAsync); r.Ended == nil {
			t.Fatal(err)
		}
		for _, name := range []string{"paused", "deleted", "last"} {
			req := newRequest(name)
			if _, err := s.reconcileOnce(req, e.CreateOrUpdateVirtualMachineAsync); !errors.Is(err, provider.ErrTooManyCreates) || created(req) != "False TooManyCreates" {
				t.Fatalf("%s: got %v, %s; want ErrTooManyCreates", name, err, created(req))
			}
		}
		release()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if diff := cmp.Diff([]string{"paused", "first", "deleted", "last"}, events); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestSlots_AlternateBetweenNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake.New()
		e := engine.New(engine.Options{Driver: d, Limits: engine.Limits{Creates: 1}})
		run(t, e)
		synctest.Wait()
		s := &testSetup{t: t, Engine: e, driver: d}
		release := d.Block()
		if r, err := s.reconcileOnce(newRequest("first"), e.CreateOrUpdateVirtualMachineAsync); r.Ended == nil {
			t.Fatal(err)
		}
		waiting := map[string]*provider.Request{}
		for _, where := range []struct{ namespace, name string }{{"crowd", "a"}, {"crowd", "b"}, {"crowd", "c"}, {"alone", "z"}} {
			req := newRequest(where.name)
			req.VM.Namespace = where.namespace
			waiting[where.name] = req
			_, _ = s.reconcileOnce(req, e.CreateOrUpdateVirtualMachineAsync)
		}
		var made []string
		watching, stop := context.WithCancel(t.Context())
		defer stop()
		events := make(chan string, 100)
		go e.Watch(watching, func(h provider.Event) { events <- h.Key.Name })
		release()
		for len(made) < len(waiting) {
			name := <-events
			req := waiting[name]
			if req == nil || d.VMs()[string(req.VM.UID)].UniqueID != "" {
				continue
			}
			if r, _ := s.reconcileOnce(req, e.CreateOrUpdateVirtualMachineAsync); r.Started == string(driver.KindCreate) {
				made = append(made, name)
			}
		}
		if diff := cmp.Diff([]string{"a", "z", "b", "c"}, made); diff != "" {
			t.Errorf("creates (-want +got):\n%s", diff)
		}
	})
}

func TestOperation_ReturnsItsPanicAsAnError(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		s.driver.PanicNext(driver.KindCreate)
		req := newRequest("vm")
		r, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync)
		if err != nil {
			t.Fatal(err)
		}
		if err := <-r.Ended; err == nil || !strings.Contains(err.Error(), "panic") {
			t.Errorf("operation error %v, want its panic", err)
		}
	})
}

func TestRun_LeavesOperationsToTheHypervisorAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake.New()
		e := engine.New(engine.Options{Driver: d})
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { e.Run(ctx); close(ended) }()
		synctest.Wait()
		s := &testSetup{t: t, Engine: e, driver: d}
		d.Block()
		r, err := s.reconcileOnce(newRequest("vm"), e.CreateOrUpdateVirtualMachineAsync)
		if err != nil {
			t.Fatal(err)
		}
		stop()
		<-ended
		if err := <-r.Ended; !errors.Is(err, driver.ErrLeave) {
			t.Errorf("operation error %v, want ErrLeave", err)
		}
		if r, err := s.reconcileOnce(newRequest("late"), e.CreateOrUpdateVirtualMachineAsync); r.Ended != nil || err == nil {
			t.Errorf("after the end of Run a reconcile started an operation or succeeded: %v", err)
		}
	})
}

func TestKey_DistinguishesKinds(t *testing.T) {
	name := provider.KeyOf(newRequest("one").VM).NamespacedName
	if provider.VirtualMachineKey(name) == (provider.Key{Kind: "VirtualMachineImageCache", NamespacedName: name}) {
		t.Error("an image cache and a virtual machine of the same name have equal keys")
	}
}

func TestSlots_AreSeparateForEachKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := fake.New()
		e := engine.New(engine.Options{Driver: d, Limits: engine.Limits{PowerChanges: 2, Reconfigurations: 2, Deletes: 2}})
		run(t, e)
		synctest.Wait()
		s := &testSetup{t: t, Engine: e, driver: d}
		var reqs []*provider.Request
		for _, name := range []string{"a", "b", "c"} {
			req := s.runningVM(name)
			req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
			reqs = append(reqs, req)
		}
		release := d.Block()
		for n, req := range reqs {
			r, err := s.reconcileOnce(req, e.CreateOrUpdateVirtualMachineAsync)
			if refused := errors.Is(err, provider.ErrTooManyOperations); (r.Ended == nil) != refused || refused != (n == 2) {
				t.Errorf("%s: started %t, error %v", req.VM.Name, r.Ended != nil, err)
			}
		}
		c := meta.FindStatusCondition(reqs[2].VM.Status.Conditions, vmv1alpha1.ConditionPowerStateSynced)
		if c == nil || c.Reason != vmv1alpha1.ReasonTooManyOperations {
			t.Errorf("condition %+v, want TooManyOperations", c)
		}
		// Deletions have their own slots.
		release()
		for _, req := range reqs {
			if err := s.reconcile(req); err != nil || req.VM.Status.PowerState != vmv1alpha1.PoweredOff {
				t.Errorf("%s: error %v, power state %s", req.VM.Name, err, req.VM.Status.PowerState)
			}
		}
		release = d.Block()
		for n, req := range reqs {
			r, err := s.reconcileOnce(req, e.DeleteVirtualMachine)
			if started := r.Ended != nil; started != (n < 2) || !started && !errors.Is(err, provider.ErrTooManyOperations) {
				t.Errorf("%s: deletion started %t, error %v", req.VM.Name, started, err)
			}
		}
		release()
	})
}

func TestOperation_DoesNotStartWithoutPermission(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		refused := errors.New("another replica may be active")
		s.permit = func() error { return refused }
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
		for _, c := range []call{s.CreateOrUpdateVirtualMachineAsync, s.DeleteVirtualMachine} {
			result, err := s.reconcileOnce(req, c)
			if _, again := provider.AsRequeue(err); !again || result.Ended != nil || !strings.Contains(err.Error(), refused.Error()) {
				t.Errorf("reconcile = %v, started %q; want a requeue", err, result.Started)
			}
		}
		if n := s.driver.OperationCount(driver.KindPowerOff); n != 0 || req.VM.Status.PowerState != vmv1alpha1.PoweredOn {
			t.Errorf("%d power offs, power state %s; want none and the observed state", n, req.VM.Status.PowerState)
		}
		s.permit = nil
		if err := s.reconcile(req); err != nil || s.driver.OperationCount(driver.KindPowerOff) != 1 {
			t.Errorf("reconcile with permission = %v, %d power offs", err, s.driver.OperationCount(driver.KindPowerOff))
		}
	})
}
