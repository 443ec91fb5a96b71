// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vmmetrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// Values of --vm-metrics.
const (
	// None collects no metrics of individual virtual machines.
	None = "none"
	// State collects power state, phase, size, storage and the Ready condition.
	State = "state"
	// Conditions also collects all conditions.
	Conditions = "conditions"
	// Usage also collects CPU and memory usage, which are read from vCenter.
	Usage = "usage"
)

// machineCollector collects the metrics of individual virtual machines from the cache during a scrape. A change of a
// virtual machine costs nothing, and deleted virtual machines have no metrics.
type machineCollector struct {
	level    string
	machines cache.Store
	// isOwned reports whether this replica manages a virtual machine. Another replica collects the metrics of the
	// others.
	isOwned func(*vmv1alpha1.VirtualMachine) bool
}

// New returns the collectors for a level, which is one of the constants. isOwned reports whether this replica manages a
// virtual machine. vcenters returns the functions that read the usage of virtual machines.
func New(
	level string, f externalversions.SharedInformerFactory, isOwned func(*vmv1alpha1.VirtualMachine) bool, vcenters func() map[string]ReadUsage,
) []prometheus.Collector {
	all := []prometheus.Collector{&machineCollector{level: level, machines: f.Vm().V1alpha1().VirtualMachines().Informer().GetStore(), isOwned: isOwned}}
	if level == Usage {
		all = append(all, &usageCollector{vcenters: vcenters, now: time.Now, read: map[string]usage{}})
	}
	return all
}

func machineDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("slipway_virtualmachine_"+name, help, append([]string{"namespace", "name"}, labels...), nil)
}

var (
	machineInfo      = machineDesc("info", "1, with the phase, zone and node of a virtual machine.", "phase", "zone", "node")
	machineOn        = machineDesc("powered_on", "1 while a virtual machine is powered on.")
	machineCPUs      = machineDesc("vcpus", "Number of virtual CPUs of a virtual machine.")
	machineMemory    = machineDesc("memory_bytes", "Memory size of a virtual machine.")
	machineStorage   = machineDesc("storage_committed_bytes", "Datastore space used by a virtual machine.")
	machineCondition = machineDesc("condition", "1 if a condition is True, 0 if it is False, -1 if it is Unknown.", "type")
)

// Describe implements prometheus.Collector.
func (*machineCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{machineInfo, machineOn, machineCPUs, machineMemory, machineStorage, machineCondition} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *machineCollector) Collect(to chan<- prometheus.Metric) {
	if c.level == None {
		return
	}
	for _, obj := range c.machines.List() {
		if vm := obj.(*vmv1alpha1.VirtualMachine); c.isOwned(vm) {
			c.collect(vm, to)
		}
	}
}

func (c *machineCollector) collect(vm *vmv1alpha1.VirtualMachine, to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, append([]string{vm.Namespace, vm.Name}, labels...)...)
	}
	st := &vm.Status
	gauge(machineInfo, 1, string(st.Phase), st.Zone, st.NodeName)
	on := 0.0
	if st.PowerState == vmv1alpha1.PoweredOn {
		on = 1
	}
	gauge(machineOn, on)
	if r := st.Resources; r != nil {
		gauge(machineCPUs, float64(r.VCPUs))
		if r.Memory != nil {
			gauge(machineMemory, r.Memory.AsApproximateFloat64())
		}
	}
	if st.Storage != nil && st.Storage.Committed != nil {
		gauge(machineStorage, st.Storage.Committed.AsApproximateFloat64())
	}
	for i := range st.Conditions {
		condition := &st.Conditions[i]
		if c.level == State && condition.Type != vmv1alpha1.ConditionReady {
			continue
		}
		value := -1.0
		switch condition.Status {
		case metav1.ConditionTrue:
			value = 1
		case metav1.ConditionFalse:
			value = 0
		case metav1.ConditionUnknown:
		}
		gauge(machineCondition, value, condition.Type)
	}
}
