// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vmmetrics

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func TestMetrics_AreRemovedWithTheVM(t *testing.T) {
	machines := cache.NewStore(cache.MetaNamespaceKeyFunc)
	memory, storage := resource.MustParse("2Gi"), resource.MustParse("1Gi")
	web := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web"}, Status: vmv1alpha1.VirtualMachineStatus{
		Phase: vmv1alpha1.PhaseRunning, PowerState: vmv1alpha1.PoweredOn, Zone: "a", NodeName: "esx-1",
		Resources:  &vmv1alpha1.VirtualMachineResources{VCPUs: 2, Memory: &memory},
		Storage:    &vmv1alpha1.VirtualMachineStorageStatus{Committed: &storage},
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}, {Type: "Created", Status: metav1.ConditionUnknown}, {Type: "ImageReady", Status: metav1.ConditionFalse}},
	}}
	other := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other"}}
	for _, vm := range []*vmv1alpha1.VirtualMachine{web, other} {
		if err := machines.Add(vm); err != nil {
			t.Fatal(err)
		}
	}
	shown := func(level string) map[string]float64 {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(&machineCollector{level: level, machines: machines, isOwned: func(vm *vmv1alpha1.VirtualMachine) bool { return vm.Name == "web" }})
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range families {
			for _, m := range f.GetMetric() {
				name := strings.TrimPrefix(f.GetName(), "slipway_virtualmachine_")
				for _, l := range m.GetLabel() {
					name += " " + l.GetValue()
				}
				got[name] = m.GetGauge().GetValue()
			}
		}
		return got
	}
	want := map[string]float64{
		"info web ns esx-1 Running a": 1, "powered_on web ns": 1, "vcpus web ns": 2, "memory_bytes web ns": 2 << 30, "storage_committed_bytes web ns": 1 << 30,
		"condition web ns Ready": 1,
	}
	if diff := cmp.Diff(want, shown(State)); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	want["condition web ns Created"], want["condition web ns ImageReady"] = -1, 0
	if diff := cmp.Diff(want, shown(Conditions)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if got := shown(None); len(got) != 0 {
		t.Errorf("none shows %v", got)
	}
	if err := machines.Delete(web); err != nil {
		t.Fatal(err)
	}
	if got := shown(Conditions); len(got) != 0 {
		t.Errorf("a deleted VM has metrics %v", got)
	}
}
