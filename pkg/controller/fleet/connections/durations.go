// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package connections

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// durations measures the calls to vCenters and the operations in them.
type durations struct{ calls, operations *prometheus.HistogramVec }

func newDurations() *durations {
	return &durations{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slipway_vcenter_call_duration_seconds",
			Help: "Time that calls to vCenter took, by method and outcome: ok, fault, or unanswered. Includes waits for changes.",
			// 5 ms to 82 s
			Buckets: prometheus.ExponentialBuckets(0.005, 4, 8),
		}, []string{"vcenter", "method", "outcome"}),
		operations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "slipway_provider_operation_duration_seconds",
			Help: "Time that operations in vCenter took, by kind and result: success, error, or interrupted.",
			// 0.1 s to 55 min
			Buckets: prometheus.ExponentialBuckets(0.1, 2, 16),
		}, []string{"vcenter", "operation", "result"}),
	}
}

// observeCalls returns a function that records the calls to one vCenter.
func (d *durations) observeCalls(vcenter string) func(method, outcome string, took time.Duration) {
	return func(method, outcome string, took time.Duration) {
		d.calls.WithLabelValues(vcenter, method, outcome).Observe(took.Seconds())
	}
}

// observeOperations returns a function that records the operations in one vCenter.
func (d *durations) observeOperations(vcenter string) func(driver.Kind, error, time.Duration) {
	return func(kind driver.Kind, err error, took time.Duration) {
		result := "success"
		switch {
		case errors.Is(err, context.Canceled), errors.Is(err, driver.ErrShutdown):
			result = "interrupted"
		case err != nil:
			result = "error"
		}
		d.operations.WithLabelValues(vcenter, string(kind), result).Observe(took.Seconds())
	}
}
