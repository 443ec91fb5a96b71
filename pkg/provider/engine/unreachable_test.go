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

func refused(why string) *provider.UnreachableError {
	return &provider.UnreachableError{VCenter: "east", Err: errors.New(why)}
}

// lose makes the connection fail for longer than patience.
func (s *scene) lose() {
	s.ObserveConnection(refused("connection refused"), patience)
	time.Sleep(patience)
	s.ObserveConnection(refused("connection refused"), patience)
}

// watched returns a function that returns the number of new events by object.
func (s *scene) watched() func() map[string]int {
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

const away = `Unknown Unreachable VCenter "east" is not connected: connection refused`

func TestOutage_EnqueuesEachVMAtItsStartAndEnd(t *testing.T) {
	inBubble(t, func(s *scene) {
		s.running("a")
		s.running("b")
		hints := s.watched()
		hints()
		s.ObserveConnection(refused("connection refused"), patience)
		if got := hints(); len(got) != 0 {
			t.Errorf("the first failure enqueues %v, want nothing: most interruptions are short", got)
		}
		for range 20 { // probes
			time.Sleep(patience)
			s.ObserveConnection(refused("another reason each time "+time.Now().String()), patience)
		}
		if got := hints(); !maps.Equal(got, map[string]int{"a": 1, "b": 1}) {
			t.Errorf("the outage enqueues %v, want each once", got)
		}
		first := s.Unreachable().Error()
		time.Sleep(time.Hour)
		s.ObserveConnection(refused("yet another"), patience)
		if got := s.Unreachable().Error(); got != first {
			t.Errorf("the outage is first reported as %q, then as %q", first, got)
		}
		s.ObserveConnection(nil, 0)
		if got := hints(); !maps.Equal(got, map[string]int{"a": 1, "b": 1}) || s.Unreachable() != nil {
			t.Errorf("its end enqueues %v, want each once", got)
		}
		s.ObserveConnection(nil, 0)
		s.ObserveConnection(refused("a moment"), patience)
		s.ObserveConnection(nil, 0)
		if got := hints(); len(got) != 0 {
			t.Errorf("a short interruption enqueues %v, want nothing", got)
		}
	})
}

func TestOutage_IsInTheConditionsOfEveryVM(t *testing.T) {
	inBubble(t, func(s *scene) {
		runs, stops := s.running("runs"), s.running("stops")
		s.lose()
		stops.VM.Spec.PowerState = vmv1alpha1.PoweredOff
		fresh := newRequest("fresh")
		lacking := newRequest("lacking")
		lacking.PrerequisitesReady = false
		for _, req := range []*provider.Request{runs, stops} {
			r, _ := s.once(req, s.CreateOrUpdateVirtualMachineAsync)
			if got := conditionOf(req, vmv1alpha1.ConditionConfigurationSynced); got != away || r.Ended != nil || created(req) != "True Succeeded" {
				t.Errorf("ConfigurationSynced is %s, Created %s, an operation started: %t; want %s and none", got, created(req), r.Ended != nil, away)
			}
		}
		for _, req := range []*provider.Request{fresh, lacking} {
			r, err := s.once(req, s.CreateOrUpdateVirtualMachineAsync)
			if got := conditionOf(req, vmv1alpha1.ConditionCreated); got != away || r.Ended != nil || !errors.Is(err, provider.ErrUnknownState) {
				t.Errorf("%s: Created is %s, error %v, an operation started: %t; want %s and none", req.VM.Name, got, err, r.Ended != nil, away)
			}
		}
		hints := s.watched()
		hints()
		s.ObserveConnection(nil, 0)
		if got := slices.Sorted(maps.Keys(hints())); !slices.Equal(got, []string{"fresh", "lacking", "runs", "stops"}) {
			t.Errorf("the end enqueues %q, want all", got)
		}
		for _, req := range []*provider.Request{runs, stops, fresh} {
			if err := s.reconcile(req); err != nil || conditionOf(req, vmv1alpha1.ConditionConfigurationSynced) != "True Succeeded" {
				t.Errorf("%s afterwards: error %v, ConfigurationSynced %s", req.VM.Name, err, conditionOf(req, vmv1alpha1.ConditionConfigurationSynced))
			}
		}
		if stops.VM.Status.PowerState != vmv1alpha1.PoweredOff {
			t.Errorf("power state %s, want the state that was requested during the outage", stops.VM.Status.PowerState)
		}
	})
}

func TestOutage_HasTheSameReasonInAllConditions(t *testing.T) {
	for name, never := range map[string]bool{"read before": false, "never read": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(s *scene) {
				req := s.running("known")
				s.driver.SetReadable(!never)
				s.lose()
				_, _ = s.once(req, s.CreateOrUpdateVirtualMachineAsync)
				for _, kind := range []string{vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionPowerStateSynced} {
					if got := conditionOf(req, kind); got != away {
						t.Errorf("%s is %s, want %s", kind, got, away)
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
	inBubble(t, func(s *scene) {
		known := s.running("known")
		s.driver.SetReadable(false)
		s.lose()
		if _, err := s.once(known, s.CreateOrUpdateVirtualMachineAsync); !errors.Is(err, provider.ErrUnknownState) {
			t.Errorf("error %v, want ErrUnknownState", err)
		}
		if got := conditionOf(known, vmv1alpha1.ConditionConfigurationSynced); got != away || created(known) != "True Succeeded" {
			t.Errorf("ConfigurationSynced is %s, Created %s; want %s for an existing VM", got, created(known), away)
		}
		hints := s.watched()
		hints()
		s.driver.SetReadable(true) // all objects are read
		if got := hints(); got["known"] == 0 || s.Unreachable() != nil {
			t.Errorf("after the read %v are enqueued, outage %v", got, s.Unreachable())
		}
	})
}

func TestOutage_IsReportedByAWaitingDeletion(t *testing.T) {
	inBubble(t, func(s *scene) {
		deleted, never, under := s.running("deleted"), newRequest("never"), s.running("under")
		now := metav1.Now()
		for _, req := range []*provider.Request{deleted, never, under} {
			req.VM.DeletionTimestamp = &now
		}
		release := s.driver.Block()
		if _, err := s.once(under, s.DeleteVirtualMachine); !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Fatalf("deletion = %v, want ErrReconcileInProgress", err)
		}
		s.lose()
		const want = `False Unreachable the deletion continues when vCenter responds: VCenter "east" is not connected: connection refused`
		for _, req := range []*provider.Request{deleted, never, under} {
			_, err := s.once(req, s.DeleteVirtualMachine)
			if got := conditionOf(req, vmv1alpha1.ConditionReady); got != want || err == nil {
				t.Errorf("%s: Ready is %s, error %v; want %s", req.VM.Name, got, err, want)
			}
		}
		if n := s.driver.OperationCount(driver.KindDelete); n != 0 {
			t.Errorf("%d VMs were destroyed", n)
		}
		release()
		s.ObserveConnection(nil, 0)
		for _, req := range []*provider.Request{deleted, never, under} {
			if err := s.remove(req); err != nil {
				t.Errorf("%s afterwards: %v", req.VM.Name, err)
			}
		}
	})
}
