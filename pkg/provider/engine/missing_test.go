// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// testSetup is an engine with a fake driver, in a synctest bubble.
type testSetup struct {
	t *testing.T
	*engine.Engine
	driver *fake.Driver
	// permit, if set, is the engine's Permit function.
	permit func() error
}

func runInBubble(t *testing.T, test func(*testSetup)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := fake.New()
		s := &testSetup{t: t, driver: d}
		s.Engine = engine.New(engine.Options{Driver: d, Limits: engine.Limits{Creates: 100}, Permit: func() error {
			if s.permit == nil {
				return nil
			}
			return s.permit()
		}})
		run(t, s.Engine)
		synctest.Wait()
		test(s)
	})
}

// reconcile reconciles until no operation runs, and returns the last error.
func (s *testSetup) reconcile(req *provider.Request) error {
	s.t.Helper()
	return s.until(req, s.CreateOrUpdateVirtualMachineAsync)
}

func (s *testSetup) remove(req *provider.Request) error {
	s.t.Helper()
	return s.until(req, s.DeleteVirtualMachine)
}

func (s *testSetup) until(req *provider.Request, call call) error {
	s.t.Helper()
	for range 20 {
		r, err := s.reconcileOnce(req, call)
		if r.Ended == nil && !errors.Is(err, provider.ErrReconcileInProgress) {
			return err
		}
	}
	s.t.Fatal("operations are still started after 20 reconciles")
	return nil
}

func (s *testSetup) reconcileOnce(req *provider.Request, call call) (provider.Result, error) {
	s.t.Helper()
	req.Now = time.Now()
	r, err := call(s.t.Context(), req)
	r.Apply(&req.VM.Status, req.VM.Generation, req.Now)
	synctest.Wait()
	return r, err
}

// runningVM creates a VM and returns its request.
func (s *testSetup) runningVM(name string) *provider.Request {
	s.t.Helper()
	req := newRequest(name)
	if err := s.reconcile(req); err != nil || req.VM.Status.PowerState != vmv1alpha1.PoweredOn {
		s.t.Fatalf("%s: error %v, power state %q; want PoweredOn", name, err, req.VM.Status.PowerState)
	}
	return req
}

func (s *testSetup) hide(req *provider.Request, hidden bool) {
	s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.Hidden = hidden })
}

// created returns the status and the reason of the Created condition.
func created(req *provider.Request) string {
	c := meta.FindStatusCondition(req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func TestMissingVM_IsNotRecreatedByDefaultAndMayReappear(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		id := req.VM.Status.UniqueID
		s.hide(req, true)
		for range 3 {
			if err := s.reconcile(req); err != nil || created(req) != "Unknown Missing" || req.VM.Status.UniqueID != id {
				t.Fatalf("error %v, Created %s, uniqueID %q; want Unknown Missing and the same ID %s", err, created(req), req.VM.Status.UniqueID, id)
			}
			time.Sleep(time.Hour)
		}
		if n := s.driver.CreatedCount(); n != 1 {
			t.Errorf("%d VMs were created, want only the first", n)
		}
		s.hide(req, false)
		if err := s.reconcile(req); err != nil || created(req) != "True Succeeded" {
			t.Errorf("after it has reappeared: error %v, Created %s; want True Succeeded", err, created(req))
		}
	})
}

func TestMissingVM_IsUnknownWhileTheSearchFails(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		s.hide(req, true)
		s.driver.FailNext(driver.KindSearch, errors.New("no response"))
		err := s.reconcile(req)
		if _, again := provider.AsRequeue(err); !again || created(req) != "Unknown UnknownState" {
			t.Errorf("error %v, Created %s; want a requeue and UnknownState", err, created(req))
		}
	})
}

func TestMissingVM_IsRecreatedAfterTheGracePeriod(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		req.VM.Spec.WhenMissing = vmv1alpha1.WhenMissingRecreate
		s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.Hidden, v.Destroyed = true, true })
		err := s.reconcile(req)
		after, again := provider.AsRequeue(err)
		if !again || after != time.Minute || created(req) != "Unknown Missing" || s.driver.CreatedCount() != 1 {
			t.Fatalf("error %v, Created %s, %d created; want a grace period of one minute", err, created(req), s.driver.CreatedCount())
		}
		time.Sleep(after)
		if err := s.reconcile(req); err != nil || s.driver.CreatedCount() != 2 || req.VM.Status.PowerState != vmv1alpha1.PoweredOn {
			t.Errorf("error %v, %d created, power state %s; want a second VM that is powered on", err, s.driver.CreatedCount(), req.VM.Status.PowerState)
		}
	})
}

func TestDeletion_WaitsForTheGracePeriodOfAMissingVM(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req, confirmed := s.runningVM("vm"), s.runningVM("confirmed")
		s.hide(req, true)
		s.hide(confirmed, true)
		confirmed.VM.Annotations = map[string]string{vmv1alpha1.AnnotationConfirmedMissing: confirmed.VM.Status.UniqueID}
		if err := s.remove(confirmed); err != nil {
			t.Errorf("deletion after a confirmation = %v, want success", err)
		}
		err := s.remove(req)
		after, again := provider.AsRequeue(err)
		if !again || after != time.Minute {
			t.Fatalf("deletion = %v, want a grace period of one minute", err)
		}
		time.Sleep(after)
		if err := s.remove(req); err != nil {
			t.Errorf("deletion after a minute = %v, want success", err)
		}
	})
}

func TestDeletion_IsImmediateIfTheVMNeverExisted(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		if err := s.remove(newRequest("never")); err != nil {
			t.Errorf("deletion = %v, want success", err)
		}
		if n := s.driver.OperationCount(driver.KindSearch); n != 1 {
			t.Errorf("%d searches, want 1: the inventory alone is no proof", n)
		}
	})
}

func TestCircuitBreaker_StopsCreatesAndDeletesWhileManyVMsAreMissing(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		var reqs []*provider.Request
		for i := range 40 {
			req := s.runningVM(fmt.Sprintf("vm-%02d", i))
			req.VM.Spec.WhenMissing = vmv1alpha1.WhenMissingRecreate
			reqs = append(reqs, req)
		}
		missing, kept := reqs[:7], reqs[7]
		for _, req := range missing {
			s.hide(req, true)
			_ = s.reconcile(req)
		}
		time.Sleep(time.Hour)
		for _, req := range missing {
			err := s.reconcile(req)
			if _, again := provider.AsRequeue(err); !again || created(req) != "Unknown ManyMissing" {
				t.Fatalf("%s: error %v, Created %s; want ManyMissing and a requeue", req.VM.Name, err, created(req))
			}
		}
		if n, many := s.Missing(); n != len(missing) || !many {
			t.Errorf("%d missing, many: %t; want %d and true", n, many, len(missing))
		}
		if err := s.remove(kept); err == nil || s.driver.OperationCount(driver.KindDelete) != 0 {
			t.Errorf("deletion of a visible VM = %v, %d deletes; want it to wait", err, s.driver.OperationCount(driver.KindDelete))
		}
		fresh := newRequest("fresh")
		if err := s.reconcile(fresh); err != nil || created(fresh) != "True Succeeded" {
			t.Errorf("a new VM: error %v, Created %s; want it created", err, created(fresh))
		}
		if err := s.remove(fresh); err == nil {
			t.Error("a VM was deleted while the circuit breaker is tripped")
		}
		missing[0].VM.Annotations = map[string]string{vmv1alpha1.AnnotationConfirmedMissing: missing[0].VM.Status.UniqueID}
		s.driver.Forget(string(missing[0].VM.UID))
		time.Sleep(2 * time.Minute)
		if err := s.reconcile(missing[0]); err != nil || created(missing[0]) != "True Succeeded" {
			t.Errorf("after a confirmation: error %v, Created %s; want it recreated", err, created(missing[0]))
		}
		for _, req := range missing[1:] {
			s.hide(req, false)
			if err := s.reconcile(req); err != nil || created(req) != "True Succeeded" {
				t.Errorf("%s has reappeared: error %v, Created %s", req.VM.Name, err, created(req))
			}
		}
		if n, many := s.Missing(); n != 0 || many {
			t.Errorf("%d missing, many: %t; want none afterwards", n, many)
		}
		if err := s.remove(kept); err != nil {
			t.Errorf("deletion afterwards = %v, want success", err)
		}
		if n := s.driver.CreatedCount(); n != 42 {
			t.Errorf("%d VMs were created, want 41 and the recreated one", n)
		}
	})
}
