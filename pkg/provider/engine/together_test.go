// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// begun are operations of a virtual machine that has not ended, each with the request that
// began it.
var begun = []struct {
	kind  driver.Kind
	begin func(*scene) *provider.Request
}{
	{driver.KindCreate, func(*scene) *provider.Request { return newRequest("vm") }},
	{driver.KindReconfigure, func(s *scene) *provider.Request {
		req := s.stopped("vm")
		resize(req)
		return req
	}},
	{driver.KindPowerOn, func(s *scene) *provider.Request {
		req := s.stopped("vm")
		req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
		return req
	}},
	{driver.KindPowerOff, func(s *scene) *provider.Request {
		req := s.running("vm")
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeSoft
		return req
	}},
	{driver.KindSuspend, func(s *scene) *provider.Request {
		req := s.running("vm")
		req.VM.Spec.PowerState, req.VM.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeSoft
		return req
	}},
	{driver.KindRestart, func(s *scene) *provider.Request {
		req := s.running("vm")
		req.VM.Spec.NextRestartTime, req.VM.Spec.RestartMode = time.Now().UTC().Format(time.RFC3339Nano), vmv1alpha1.PowerOpModeSoft
		return req
	}},
	{driver.KindPromote, func(s *scene) *provider.Request {
		req := s.running("vm")
		s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.Depending = 1 })
		return req
	}},
}

func resize(req *provider.Request) {
	req.Effective = req.Effective.DeepCopy()
	req.Effective.GuestID = "otherGuest"
}

// wishes are what somebody asks for meanwhile, and how it ends.
var wishes = []struct {
	name   string
	wish   func(*provider.Request)
	fulfil func(*scene, *provider.Request) error
	met    func(*scene, *provider.Request) bool
	// ends are the operations that it ends; for others it waits.
	ends []driver.Kind
}{
	{"nothing else", func(*provider.Request) {}, (*scene).pass, func(s *scene, req *provider.Request) bool {
		return s.driver.VMs()[string(req.VM.UID)].PowerState == wanted(req)
	}, nil},
	{"another size", resize, (*scene).pass, func(s *scene, req *provider.Request) bool {
		return wanted(req) != vmv1alpha1.PoweredOff || s.driver.VMs()[string(req.VM.UID)].Effective.GuestID == "otherGuest"
	}, nil},
	{"off", func(req *provider.Request) {
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
	}, (*scene).pass, inState(vmv1alpha1.PoweredOff), []driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart, driver.KindPromote}},
	{"on", func(req *provider.Request) { req.VM.Spec.PowerState = vmv1alpha1.PoweredOn }, (*scene).pass,
		inState(vmv1alpha1.PoweredOn), []driver.Kind{driver.KindPowerOff, driver.KindSuspend}},
	{"suspended", func(req *provider.Request) {
		req.VM.Spec.PowerState, req.VM.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeHard
	}, (*scene).pass, nil, []driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart, driver.KindPromote}},
	{"restarted hard", func(req *provider.Request) {
		req.VM.Spec.PowerState, req.VM.Spec.RestartMode = vmv1alpha1.PoweredOn, vmv1alpha1.PowerOpModeHard
		req.VM.Spec.NextRestartTime = time.Now().UTC().Format(time.RFC3339Nano)
	}, (*scene).pass, inState(vmv1alpha1.PoweredOn), []driver.Kind{driver.KindPowerOff, driver.KindSuspend, driver.KindRestart}},
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

// One operation of a virtual machine runs at a time: whatever is wished meanwhile either
// ends it or waits for it, and is carried out in the end.
func TestWhatIsWishedWhileAnOperationRunsEndsItOrWaits(t *testing.T) {
	for _, b := range begun {
		for _, w := range wishes {
			t.Run(string(b.kind)+", "+w.name, func(t *testing.T) {
				inBubble(t, func(s *scene) {
					req := b.begin(s)
					before, release := s.driver.Calls(), s.driver.Hold()
					defer release()
					first, err := s.once(req, s.CreateOrUpdateVirtualMachineAsync)
					if first.Started != string(b.kind) {
						t.Fatalf("started %q with %v, want to %s", first.Started, err, b.kind)
					}
					w.wish(req)
					wish := s.CreateOrUpdateVirtualMachineAsync
					if req.VM.DeletionTimestamp != nil {
						wish = s.DeleteVirtualMachine
					}
					second, err := s.once(req, wish)
					if second.Ended != nil || !errors.Is(err, provider.ErrReconcileInProgress) {
						t.Errorf("started %q, error %v; want nothing beside it, and ErrReconcileInProgress", second.Started, err)
					}
					ends := false
					for _, kind := range w.ends {
						ends = ends || kind == b.kind
					}
					if ended := len(first.Ended) == 1; ended != ends {
						t.Errorf("it was ended: %t, want %t", ended, ends)
					}
					release()
					synctest.Wait()
					if err := w.fulfil(s, req); err != nil && !mayFail(req) {
						t.Errorf("in the end: %v", err)
					}
					if w.met != nil && !w.met(s, req) {
						t.Errorf("in the end there is %+v after %d operations", s.driver.VMs(), s.driver.Calls()-before)
					}
				})
			})
		}
	}
}

// mayFail is true for what has no way: a VM that is off cannot be suspended.
func mayFail(req *provider.Request) bool {
	return req.VM.Spec.PowerState == vmv1alpha1.Suspended && req.VM.Status.PowerState == vmv1alpha1.PoweredOff
}
