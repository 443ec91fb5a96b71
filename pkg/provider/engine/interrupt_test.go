// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// operationCases are the operations during which the object changes. request returns the object's request. begin starts
// the operation if a reconcile of the object does not start it.
var operationCases = []struct {
	kind    driver.Kind
	request func(*testSetup) *provider.Request
	begin   func(*testSetup, *provider.Request) error
}{
	{driver.KindCreate, func(*testSetup) *provider.Request { return newRequest("vm") }, nil},
	{driver.KindReconfigure, func(s *testSetup) *provider.Request {
		req := s.poweredOffVM("vm")
		resize(req)
		return req
	}, nil},
	{driver.KindPowerOn, func(s *testSetup) *provider.Request {
		req := s.poweredOffVM("vm")
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
		return req
	}, nil},
	{driver.KindPowerOff, func(s *testSetup) *provider.Request {
		req := s.runningVM("vm")
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeSoft
		return req
	}, nil},
	{driver.KindSuspend, func(s *testSetup) *provider.Request {
		req := s.runningVM("vm")
		req.VM.Spec.PowerState, req.VM.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeSoft
		return req
	}, nil},
	{driver.KindRestart, func(s *testSetup) *provider.Request {
		req := s.runningVM("vm")
		req.VM.Spec.NextRestartTime, req.VM.Spec.RestartMode = time.Now().UTC().Format(time.RFC3339Nano), vmv1alpha1.PowerOpModeSoft
		return req
	}, nil},
	{driver.KindPromote, func(s *testSetup) *provider.Request {
		req := s.runningVM("vm")
		s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.Depending = 1 })
		return req
	}, nil},
	{driver.KindSnapshot, func(s *testSetup) *provider.Request { return s.runningVM("vm") }, func(s *testSetup, req *provider.Request) error {
		_, err := s.Snapshot(s.t.Context(), snapshotOf(req, "now"))
		return err
	}},
	{driver.KindRemoveSnapshot, func(s *testSetup) *provider.Request {
		req := s.runningVM("vm")
		s.createSnapshot(req, "before")
		return req
	}, func(s *testSetup, req *provider.Request) error {
		snapshot := snapshotOf(req, "before")
		snapshot.UniqueID = "snapshot-before"
		return s.RemoveSnapshot(s.t.Context(), snapshot)
	}},
	{driver.KindRevert, func(s *testSetup) *provider.Request {
		req := s.runningVM("vm")
		snapshot := s.createSnapshot(req, "before")
		req.VM.Spec.CurrentSnapshotName, req.Revert = snapshot.Name, &provider.RevertTarget{Name: snapshot.Name, UID: snapshot.UID, UniqueID: snapshot.UniqueID}
		return req
	}, nil},
}

func resize(req *provider.Request) {
	req.Effective = req.Effective.DeepCopy()
	req.Effective.GuestID = "otherGuest"
}

// changeCases are the changes during an operation, and their expected results.
var changeCases = []struct {
	name string
	// change changes the request. finish reconciles until the change is applied. applied checks the result.
	change  func(*provider.Request)
	finish  func(*testSetup, *provider.Request) error
	applied func(*testSetup, *provider.Request) bool
	// interrupts are the kinds of operations that the change interrupts. It waits for all others.
	interrupts []driver.Kind
}{
	{"no change", func(*provider.Request) {}, (*testSetup).reconcile, func(s *testSetup, req *provider.Request) bool {
		return s.driver.VMs()[string(req.VM.UID)].PowerState == desiredPowerState(req)
	}, nil},
	{"another size", resize, (*testSetup).reconcile, func(s *testSetup, req *provider.Request) bool {
		return desiredPowerState(req) != vmv1alpha1.PoweredOff || s.driver.VMs()[string(req.VM.UID)].Effective.GuestID == "otherGuest"
	}, nil},
	{"off", func(req *provider.Request) {
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
	}, (*testSetup).reconcile, inState(vmv1alpha1.PoweredOff), []driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart, driver.KindPromote}},
	{"on", func(req *provider.Request) { req.VM.Spec.PowerState = vmv1alpha1.PoweredOn }, (*testSetup).reconcile,
		inState(vmv1alpha1.PoweredOn), []driver.Kind{driver.KindPowerOff, driver.KindSuspend}},
	{"suspended", func(req *provider.Request) {
		req.VM.Spec.PowerState, req.VM.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeHard
	}, (*testSetup).reconcile, nil, []driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart, driver.KindPromote}},
	{"restarted hard", func(req *provider.Request) {
		req.VM.Spec.PowerState, req.VM.Spec.RestartMode = vmv1alpha1.PoweredOn, vmv1alpha1.PowerOpModeHard
		req.VM.Spec.NextRestartTime = time.Now().UTC().Format(time.RFC3339Nano)
	}, (*testSetup).reconcile, inState(vmv1alpha1.PoweredOn), []driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart}},
	{"deleted", func(req *provider.Request) {
		req.VM.DeletionTimestamp, req.VM.Spec.PowerOffMode = &metav1.Time{Time: time.Now()}, vmv1alpha1.PowerOpModeHard
	}, (*testSetup).remove, func(s *testSetup, _ *provider.Request) bool { return len(s.driver.VMs()) == 0 },
		[]driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart, driver.KindPromote}},
}

func desiredPowerState(req *provider.Request) vmv1alpha1.PowerState {
	if req.VM.Spec.PowerState == "" {
		return vmv1alpha1.PoweredOn
	}
	return req.VM.Spec.PowerState
}

func inState(state vmv1alpha1.PowerState) func(*testSetup, *provider.Request) bool {
	return func(s *testSetup, req *provider.Request) bool {
		return s.driver.VMs()[string(req.VM.UID)].PowerState == state
	}
}

// Only one operation of a virtual machine runs at a time. A change interrupts the operation or waits for its end, and
// is then applied.
func TestOperation_IsInterruptedOrAwaitedAfterAChange(t *testing.T) {
	for _, oc := range operationCases {
		for _, cc := range changeCases {
			t.Run(string(oc.kind)+", "+cc.name, func(t *testing.T) {
				runInBubble(t, func(s *testSetup) {
					req := oc.request(s)
					callsBefore, countBefore, release := s.driver.Calls(), s.driver.OperationCount(oc.kind), s.driver.Block()
					defer release()
					if oc.begin == nil {
						first, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync)
						if first.Started != string(oc.kind) {
							t.Fatalf("started %q, error %v; want %s", first.Started, err, oc.kind)
						}
					} else if err := oc.begin(s, req); !errors.Is(err, provider.ErrReconcileInProgress) {
						t.Fatalf("%s = %v, want ErrReconcileInProgress", oc.kind, err)
					}
					cc.change(req)
					call := s.CreateOrUpdateVirtualMachineAsync
					if req.VM.DeletionTimestamp != nil {
						call = s.DeleteVirtualMachine
					}
					second, err := s.reconcileOnce(req, call)
					if second.Ended != nil || !errors.Is(err, provider.ErrReconcileInProgress) {
						t.Errorf("started %q, error %v; want no other operation and ErrReconcileInProgress", second.Started, err)
					}
					release()
					synctest.Wait()
					if ended, ends := s.driver.OperationCount(oc.kind) == countBefore, slices.Contains(cc.interrupts, oc.kind); ended != ends {
						t.Errorf("interrupted: %t, want %t", ended, ends)
					}
					if oc.kind == driver.KindRevert && req.VM.DeletionTimestamp == nil {
						return // the object must be restored first
					}
					if err := cc.finish(s, req); err != nil && !mayFail(req) {
						t.Errorf("result: %v", err)
					}
					if cc.applied != nil && !cc.applied(s, req) {
						t.Errorf("result: %+v after %d operations", s.driver.VMs(), s.driver.Calls()-callsBefore)
					}
				})
			})
		}
	}
}

// mayFail reports whether the change is impossible: a powered-off VM cannot be suspended.
func mayFail(req *provider.Request) bool {
	return req.VM.Spec.PowerState == vmv1alpha1.Suspended && req.VM.Status.PowerState == vmv1alpha1.PoweredOff
}
