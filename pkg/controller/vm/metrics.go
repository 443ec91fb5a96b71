// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
)

// createMetrics measures the time from the creation of an object to its first address.
type createMetrics struct{ address prometheus.Histogram }

func newCreateMetrics() *createMetrics {
	return &createMetrics{address: prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "slipway_virtualmachine_create_to_address_seconds",
		Help: "Time from the creation of a virtual machine to its first address.",
		// 1 s to 68 min
		Buckets: prometheus.ExponentialBuckets(1, 2, 13),
	})}
}

// observe records the first address of a virtual machine. It is called after the status is written, so that no other
// reconcile records it again.
func (f *createMetrics) observe(old, updated *vmv1alpha1.VirtualMachine, at time.Time) {
	if !isProvisioned(old) && isProvisioned(updated) && step.HasIP(updated) {
		f.address.Observe(at.Sub(updated.CreationTimestamp.Time).Seconds())
	}
}

func isProvisioned(vm *vmv1alpha1.VirtualMachine) bool {
	i := vm.Status.Initialization
	return i != nil && i.Provisioned != nil && *i.Provisioned
}

// Collectors returns the collectors of the controller's metrics, including those of its loop and queue.
func (c *Controller) Collectors() []prometheus.Collector {
	return append(c.Loop.Collectors(), c.metrics.address)
}
