// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
)

// orphansOf returns a FindOrphans for which the given requests are the existing objects.
func (s *testSetup) orphansOf(all ...*provider.Request) engine.FindOrphans {
	return func() ([]engine.Orphan, bool) {
		return s.Orphans(func(key types.NamespacedName, uid types.UID) (string, bool) {
			for _, req := range all {
				if provider.KeyOf(req.VM).NamespacedName == key && req.VM.UID == uid {
					return req.VM.Status.UniqueID, true
				}
			}
			return "", false
		})
	}
}

func TestOrphans_ListVMsWithoutAnObject(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		first, second, third := s.runningVM("first"), s.runningVM("second"), s.runningVM("third")
		names := func(find engine.FindOrphans) string {
			orphans, known := find()
			var out []string
			for _, o := range orphans {
				out = append(out, o.Key.String()+"="+o.UniqueID+o.CopyOf)
			}
			return fmt.Sprint(known, out)
		}
		if got, want := names(s.orphansOf(first, second, third)), "true []"; got != want {
			t.Errorf("with all objects: %s, want %s", got, want)
		}
		recreated := newRequest("third")
		recreated.VM.UID = "another"
		want := fmt.Sprintf("true [%s=%s %s=%s]", provider.KeyOf(second.VM).NamespacedName, second.VM.Status.UniqueID,
			provider.KeyOf(third.VM).NamespacedName, third.VM.Status.UniqueID)
		if got := names(s.orphansOf(first, recreated)); got != want {
			t.Errorf("without the second object and with another third object: %s, want %s", got, want)
		}
		moved := newRequest("first")
		moved.VM.UID, moved.VM.Status.UniqueID = first.VM.UID, "->vm-9"
		want = fmt.Sprintf("true [%s=%s->vm-9]", provider.KeyOf(first.VM).NamespacedName, first.VM.Status.UniqueID)
		if got := names(s.orphansOf(moved, second, third)); got != want {
			t.Errorf("with another VM of the first object: %s, want %s", got, want)
		}
		if n := len(s.driver.VMs()); n != 3 {
			t.Errorf("%d VMs, want all 3 unchanged", n)
		}
		s.driver.SetReadable(false)
		if got, want := names(s.orphansOf()), "false []"; got != want {
			t.Errorf("while the hypervisor is not read: %s, want %s", got, want)
		}
	})
}

func TestMetrics_CountOrphansAndSlots(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		var all []*provider.Request
		for i := range 30 {
			all = append(all, s.runningVM(fmt.Sprintf("vm-%02d", i)))
		}
		collector := engine.NewCollector(s.Engine, "vc.example.com", s.orphansOf(all[1:]...))
		compare := func(when string, want ...string) {
			t.Helper()
			for _, line := range want {
				name, value, _ := strings.Cut(line, " ")
				name, label, _ := strings.Cut(name, "{")
				if got := metric(t, collector, "slipway_provider_"+name, strings.TrimSuffix(label, "}")); got != value {
					t.Errorf("%s: %s %s = %s, want %s", when, name, label, got, value)
				}
			}
		}
		compare("idle", "virtual_machines 30", "orphaned_virtual_machines 1",
			"operations{create} 0", "places{creates} 100", "places_used{creates} 0", "places_waiting{creates} 0")

		release := s.driver.Block()
		made := newRequest("new")
		if _, err := s.reconcileOnce(made, s.CreateOrUpdateVirtualMachineAsync); err != nil {
			t.Fatal(err)
		}
		compare("during a create", "operations{create} 1", "places_used{creates} 1")
		release()
		synctest.Wait()

		for _, req := range all[:10] {
			s.hide(req, true)
		}
		compare("with ten missing", "virtual_machines 21", "orphaned_virtual_machines 1") // the new VM
		s.driver.SetReadable(false)
		compare("while the hypervisor is not read", "virtual_machines absent", "orphaned_virtual_machines absent")
		if problems, err := testutil.CollectAndLint(collector); err != nil || len(problems) > 0 {
			t.Errorf("lint: %v, %v", problems, err)
		}
	})
}

// metric returns the value of the metric with the given label value, or absent.
func metric(t *testing.T, c prometheus.Collector, name, label string) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				if l.GetName() != "vcenter" {
					labels = append(labels, l.GetValue())
				}
			}
			if f.GetName() == name && strings.Join(labels, ",") == label {
				return fmt.Sprint(m.GetGauge().GetValue())
			}
		}
	}
	return "absent"
}
