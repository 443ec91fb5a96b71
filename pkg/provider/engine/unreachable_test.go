// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

const patience = 15 * time.Second

func unreachableError(why string) *provider.UnreachableError {
	return &provider.UnreachableError{VCenter: "east", Err: errors.New(why)}
}

// startOutage makes the connection fail for longer than patience.
func (s *testSetup) startOutage() {
	s.ObserveConnection(unreachableError("connection refused"), patience)
	time.Sleep(patience)
	s.ObserveConnection(unreachableError("connection refused"), patience)
}

// countEvents returns a function that returns the number of new events by object since its last call.
func (s *testSetup) countEvents() func() map[string]int {
	var mu sync.Mutex
	counted := map[string]int{}
	go s.Watch(s.t.Context(), func(h provider.Event) {
		mu.Lock()
		defer mu.Unlock()
		counted[h.Key.Name]++
	})
	synctest.Wait()
	return func() map[string]int {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		got := maps.Clone(counted)
		clear(counted)
		return got
	}
}

func conditionOf(req *provider.Request, kind string) string {
	c := meta.FindStatusCondition(req.VM.Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return strings.TrimSpace(string(c.Status) + " " + c.Reason + " " + c.Message)
}

const unreachableCondition = `Unknown Unreachable VCenter "east" is not connected: connection refused`

func TestOutage_EnqueuesEachVMAtItsStartAndEnd(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		s.runningVM("a")
		s.runningVM("b")
		events := s.countEvents()
		events()
		s.ObserveConnection(unreachableError("connection refused"), patience)
		if got := events(); len(got) != 0 {
			t.Errorf("the first failure enqueues %v, want nothing: most interruptions are short", got)
		}
		for range 20 { // probes
			time.Sleep(patience)
			s.ObserveConnection(unreachableError("another reason each time "+time.Now().String()), patience)
		}
		if got := events(); !maps.Equal(got, map[string]int{"a": 1, "b": 1}) {
			t.Errorf("the outage enqueues %v, want each once", got)
		}
		first := s.Unreachable().Error()
		time.Sleep(time.Hour)
		s.ObserveConnection(unreachableError("yet another"), patience)
		if got := s.Unreachable().Error(); got != first {
			t.Errorf("the outage is first reported as %q, then as %q", first, got)
		}
		s.ObserveConnection(nil, 0)
		if got := events(); !maps.Equal(got, map[string]int{"a": 1, "b": 1}) || s.Unreachable() != nil {
			t.Errorf("its end enqueues %v, want each once", got)
		}
		s.ObserveConnection(nil, 0)
		s.ObserveConnection(unreachableError("a moment"), patience)
		s.ObserveConnection(nil, 0)
		if got := events(); len(got) != 0 {
			t.Errorf("a short interruption enqueues %v, want nothing", got)
		}
	})
}

func TestOutage_IsInTheConditionsOfEveryVM(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		runningReq, stoppingReq := s.runningVM("runs"), s.runningVM("stops")
		s.startOutage()
		stoppingReq.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		fresh := newRequest("fresh")
		notReady := newRequest("lacking")
		notReady.PrerequisitesReady = false
		for _, req := range []*provider.Request{runningReq, stoppingReq} {
			r, _ := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync)
			if got := conditionOf(req, vmv1alpha1.ConditionConfigurationSynced); got != unreachableCondition || r.Ended != nil || created(req) != "True Succeeded" {
				t.Errorf("ConfigurationSynced is %s, Created %s, an operation started: %t; want %s and none", got, created(req), r.Ended != nil, unreachableCondition)
			}
		}
		for _, req := range []*provider.Request{fresh, notReady} {
			r, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync)
			if got := conditionOf(req, vmv1alpha1.ConditionCreated); got != unreachableCondition || r.Ended != nil || !errors.Is(err, provider.ErrUnknownState) {
				t.Errorf("%s: Created is %s, error %v, an operation started: %t; want %s and none", req.VM.Name, got, err, r.Ended != nil, unreachableCondition)
			}
		}
		events := s.countEvents()
		events()
		s.ObserveConnection(nil, 0)
		if got := slices.Sorted(maps.Keys(events())); !slices.Equal(got, []string{"fresh", "lacking", "runs", "stops"}) {
			t.Errorf("the end of the outage enqueues %q, want all", got)
		}
		for _, req := range []*provider.Request{runningReq, stoppingReq, fresh} {
			if err := s.reconcile(req); err != nil || conditionOf(req, vmv1alpha1.ConditionConfigurationSynced) != "True Succeeded" {
				t.Errorf("%s afterwards: error %v, ConfigurationSynced %s", req.VM.Name, err, conditionOf(req, vmv1alpha1.ConditionConfigurationSynced))
			}
		}
		if stoppingReq.VM.Status.PowerState != vmv1alpha1.PoweredOff {
			t.Errorf("power state %s, want the state that was requested during the outage", stoppingReq.VM.Status.PowerState)
		}
	})
}

func TestOutage_HasTheSameReasonInAllConditions(t *testing.T) {
	for name, never := range map[string]bool{"read before": false, "never read": true} {
		t.Run(name, func(t *testing.T) {
			runInBubble(t, func(s *testSetup) {
				req := s.runningVM("known")
				s.driver.SetReadable(!never)
				s.startOutage()
				_, _ = s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync)
				for _, kind := range []string{vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionPowerStateSynced} {
					if got := conditionOf(req, kind); got != unreachableCondition {
						t.Errorf("%s is %s, want %s", kind, got, unreachableCondition)
					}
				}
				for _, c := range req.VM.Status.Conditions {
					if c.Status == metav1.ConditionUnknown && c.Reason != vmv1alpha1.ReasonUnreachable {
						t.Errorf("%s is Unknown %s, want the same reason as the others", c.Type, c.Reason)
					}
				}
			})
		})
	}
}

// A server that starts while vCenter is unreachable has read nothing.
func TestOutage_IsReportedForUnreadVMs(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		known := s.runningVM("known")
		s.driver.SetReadable(false)
		s.startOutage()
		if _, err := s.reconcileOnce(known, s.CreateOrUpdateVirtualMachineAsync); !errors.Is(err, provider.ErrUnknownState) {
			t.Errorf("error %v, want ErrUnknownState", err)
		}
		if got := conditionOf(known, vmv1alpha1.ConditionConfigurationSynced); got != unreachableCondition || created(known) != "True Succeeded" {
			t.Errorf("ConfigurationSynced is %s, Created %s; want %s for an existing VM", got, created(known), unreachableCondition)
		}
		hints := s.countEvents()
		hints()
		s.driver.SetReadable(true) // all objects are read
		if got := hints(); got["known"] == 0 || s.Unreachable() != nil {
			t.Errorf("after the read %v are enqueued, outage %v", got, s.Unreachable())
		}
	})
}

func TestOutage_IsReportedByAWaitingDeletion(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		deleted, never, deletionReq := s.runningVM("deleted"), newRequest("never"), s.runningVM("under")
		now := metav1.Now()
		for _, req := range []*provider.Request{deleted, never, deletionReq} {
			req.VM.DeletionTimestamp = &now
		}
		release := s.driver.Block()
		if _, err := s.reconcileOnce(deletionReq, s.DeleteVirtualMachine); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Fatalf("deletion = %v, want ErrReconcileInProgress", err)
		}
		s.startOutage()
		const want = `False Unreachable the deletion continues when vCenter responds: VCenter "east" is not connected: connection refused`
		for _, req := range []*provider.Request{deleted, never, deletionReq} {
			_, err := s.reconcileOnce(req, s.DeleteVirtualMachine)
			if got := conditionOf(req, vmv1alpha1.ConditionReady); got != want || err == nil {
				t.Errorf("%s: Ready is %s, error %v; want %s", req.VM.Name, got, err, want)
			}
		}
		if n := s.driver.OperationCount(driver.KindDelete); n != 0 {
			t.Errorf("%d VMs were destroyed", n)
		}
		release()
		s.ObserveConnection(nil, 0)
		for _, req := range []*provider.Request{deleted, never, deletionReq} {
			if err := s.remove(req); err != nil {
				t.Errorf("%s afterwards: %v", req.VM.Name, err)
			}
		}
	})
}
