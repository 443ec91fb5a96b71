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

// begun are operations that have not ended, each with the request of the object. begin starts the operation if a
// reconcile of the object does not start it.
var begun = []struct {
	kind    driver.Kind
	request func(*scene) *provider.Request
	begin   func(*scene, *provider.Request) error
}{
	{driver.KindCreate, func(*scene) *provider.Request { return newRequest("vm") }, nil},
	{driver.KindReconfigure, func(s *scene) *provider.Request {
		req := s.stopped("vm")
		resize(req)
		return req
	}, nil},
	{driver.KindPowerOn, func(s *scene) *provider.Request {
		req := s.stopped("vm")
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
		return req
	}, nil},
	{driver.KindPowerOff, func(s *scene) *provider.Request {
		req := s.running("vm")
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeSoft
		return req
	}, nil},
	{driver.KindSuspend, func(s *scene) *provider.Request {
		req := s.running("vm")
		req.VM.Spec.PowerState, req.VM.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeSoft
		return req
	}, nil},
	{driver.KindRestart, func(s *scene) *provider.Request {
		req := s.running("vm")
		req.VM.Spec.NextRestartTime, req.VM.Spec.RestartMode = time.Now().UTC().Format(time.RFC3339Nano), vmv1alpha1.PowerOpModeSoft
		return req
	}, nil},
	{driver.KindPromote, func(s *scene) *provider.Request {
		req := s.running("vm")
		s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.Depending = 1 })
		return req
	}, nil},
	{driver.KindSnapshot, func(s *scene) *provider.Request { return s.running("vm") }, func(s *scene, req *provider.Request) error {
		_, err := s.Snapshot(s.t.Context(), snapshotOf(req, "now"))
		return err
	}},
	{driver.KindRemoveSnapshot, func(s *scene) *provider.Request {
		req := s.running("vm")
		s.createSnapshot(req, "before")
		return req
	}, func(s *scene, req *provider.Request) error {
		snapshot := snapshotOf(req, "before")
		snapshot.UniqueID = "snapshot-before"
		return s.RemoveSnapshot(s.t.Context(), snapshot)
	}},
	{driver.KindRevert, func(s *scene) *provider.Request {
		req := s.running("vm")
		snapshot := s.createSnapshot(req, "before")
		req.VM.Spec.CurrentSnapshotName, req.Revert = snapshot.Name, &provider.RevertTarget{Name: snapshot.Name, UID: snapshot.UID, UniqueID: snapshot.UniqueID}
		return req
	}, nil},
}

func resize(req *provider.Request) {
	req.Effective = req.Effective.DeepCopy()
	req.Effective.GuestID = "otherGuest"
}

// wishes are changes during the operation, and their expected results.
var wishes = []struct {
	name   string
	wish   func(*provider.Request)
	fulfil func(*scene, *provider.Request) error
	met    func(*scene, *provider.Request) bool
	// ends are the operations that the change interrupts. It waits for all others.
	ends []driver.Kind
}{
	{"no change", func(*provider.Request) {}, (*scene).reconcile, func(s *scene, req *provider.Request) bool {
		return s.driver.VMs()[string(req.VM.UID)].PowerState == wanted(req)
	}, nil},
	{"another size", resize, (*scene).reconcile, func(s *scene, req *provider.Request) bool {
		return wanted(req) != vmv1alpha1.PoweredOff || s.driver.VMs()[string(req.VM.UID)].Effective.GuestID == "otherGuest"
	}, nil},
	{"off", func(req *provider.Request) {
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
	}, (*scene).reconcile, inState(vmv1alpha1.PoweredOff), []driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart, driver.KindPromote}},
	{"on", func(req *provider.Request) { req.VM.Spec.PowerState = vmv1alpha1.PoweredOn }, (*scene).reconcile,
		inState(vmv1alpha1.PoweredOn), []driver.Kind{driver.KindPowerOff, driver.KindSuspend}},
	{"suspended", func(req *provider.Request) {
		req.VM.Spec.PowerState, req.VM.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeHard
	}, (*scene).reconcile, nil, []driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart, driver.KindPromote}},
	{"restarted hard", func(req *provider.Request) {
		req.VM.Spec.PowerState, req.VM.Spec.RestartMode = vmv1alpha1.PoweredOn, vmv1alpha1.PowerOpModeHard
		req.VM.Spec.NextRestartTime = time.Now().UTC().Format(time.RFC3339Nano)
	}, (*scene).reconcile, inState(vmv1alpha1.PoweredOn), []driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart}},
	{"deleted", func(req *provider.Request) {
		req.VM.DeletionTimestamp, req.VM.Spec.PowerOffMode = &metav1.Time{Time: time.Now()}, vmv1alpha1.PowerOpModeHard
	}, (*scene).remove, func(s *scene, _ *provider.Request) bool { return len(s.driver.VMs()) == 0 },
		[]driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart, driver.KindPromote}},
}

func wanted(req *provider.Request) vmv1alpha1.PowerState {
	if req.VM.Spec.PowerState == "" {
		return vmv1alpha1.PoweredOn
	}
	return req.VM.Spec.PowerState
}

func inState(state vmv1alpha1.PowerState) func(*scene, *provider.Request) bool {
	return func(s *scene, req *provider.Request) bool {
		return s.driver.VMs()[string(req.VM.UID)].PowerState == state
	}
}

// Only one operation of a virtual machine runs at a time. A change interrupts the operation or waits for its end, and
// is then applied.
func TestOperation_IsInterruptedOrAwaitedAfterAChange(t *testing.T) {
	for _, b := range begun {
		for _, w := range wishes {
			t.Run(string(b.kind)+", "+w.name, func(t *testing.T) {
				inBubble(t, func(s *scene) {
					req := b.request(s)
					before, ran, release := s.driver.Calls(), s.driver.OperationCount(b.kind), s.driver.Block()
					defer release()
					if b.begin == nil {
						first, err := s.once(req, s.CreateOrUpdateVirtualMachineAsync)
						if first.Started != string(b.kind) {
							t.Fatalf("started %q, error %v; want %s", first.Started, err, b.kind)
						}
					} else if err := b.begin(s, req); !errors.Is(err, provider.ErrReconcileInProgress) {
						t.Fatalf("%s = %v, want ErrReconcileInProgress", b.kind, err)
					}
					w.wish(req)
					wish := s.CreateOrUpdateVirtualMachineAsync
					if req.VM.DeletionTimestamp != nil {
						wish = s.DeleteVirtualMachine
					}
					second, err := s.once(req, wish)
					if second.Ended != nil || !errors.Is(err, provider.ErrReconcileInProgress) {
						t.Errorf("started %q, error %v; want no other operation and ErrReconcileInProgress", second.Started, err)
					}
					release()
					synctest.Wait()
					if ended, ends := s.driver.OperationCount(b.kind) == ran, slices.Contains(w.ends, b.kind); ended != ends {
						t.Errorf("interrupted: %t, want %t", ended, ends)
					}
					if b.kind == driver.KindRevert && req.VM.DeletionTimestamp == nil {
						return // the object must be restored first
					}
					if err := w.fulfil(s, req); err != nil && !mayFail(req) {
						t.Errorf("result: %v", err)
					}
					if w.met != nil && !w.met(s, req) {
						t.Errorf("result: %+v after %d operations", s.driver.VMs(), s.driver.Calls()-before)
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
