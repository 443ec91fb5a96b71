// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/slipway-dev/slipway/test/performance/pages"
	"github.com/slipway-dev/slipway/test/performance/proc"
)

// Parts whose CPU time is read, by their names in localcluster. self is this process.
const (
	partSlipway = "slipway-apiserver"
	partHost    = "kube-apiserver"
	partVCenter = "vcenter"
	self        = "self"
)

// sample contains the counts at one time. The difference of two samples is a cost.
type sample struct {
	at time.Time
	// cpu is by part.
	cpu map[string]time.Duration
	// slipway and host count requests by verb, resource and code.
	slipway, host map[pages.Request]float64
	// calls counts the calls to vSphere, by method.
	calls map[string]float64
	// passes counts ended reconciles.
	passes float64
	// copied are the bytes that were copied on datastores.
	copied float64
}

// sample counts now.
func (e *environment) sample(ctx context.Context) (sample, error) {
	s := sample{cpu: map[string]time.Duration{}, calls: map[string]float64{}}
	for _, part := range []string{partSlipway, partHost, partVCenter, self} {
		pid := os.Getpid()
		if part != self {
			pid = e.cluster.PID(part)
		}
		spent, err := proc.CPUTime(pid)
		if err != nil {
			return s, fmt.Errorf("reading the CPU time of %s: %w", part, err)
		}
		s.cpu[part] = spent
	}
	s.at = time.Now()
	own, err := e.slipway.Metrics(ctx)
	if err != nil {
		return s, err
	}
	s.slipway, s.passes = pages.Requests(own), passes(own)
	host, err := e.host.Metrics(ctx)
	if err != nil {
		return s, err
	}
	s.host = pages.Requests(host)
	if s.copied, err = e.copied(ctx); err != nil {
		return s, err
	}
	calls, err := e.control(ctx, http.MethodGet, "/calls")
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(calls, &s.calls)
}

// since returns the cost between from and s.
func (s sample) since(from sample) sample {
	d := sample{cpu: map[string]time.Duration{}, passes: s.passes - from.passes, copied: s.copied - from.copied}
	for part, spent := range s.cpu {
		d.cpu[part] = spent - from.cpu[part]
	}
	d.slipway, d.host = pages.Minus(s.slipway, from.slipway), pages.Minus(s.host, from.host)
	d.calls = pages.Minus(s.calls, from.calls)
	return d
}

// controller is the name of the queue, which is that of the controller.
const controller = "virtualmachine"

func passes(families map[string]*dto.MetricFamily) float64 {
	for _, m := range families["workqueue_work_duration_seconds"].GetMetric() {
		if pages.Label(m, "name") == controller {
			return float64(m.GetHistogram().GetSampleCount())
		}
	}
	return 0
}

// queueState is the used part of /debug/queue, for all queues together.
type queueState struct {
	Ready     int `json:"ready"`
	Delayed   int `json:"delayed"`
	InProcess int `json:"inProcess"`
}

func (e *environment) queue(ctx context.Context) (queueState, error) {
	data, err := e.slipway.Read(ctx, "/debug/queue")
	if err != nil {
		return queueState{}, err
	}
	var queues []queueState
	if err := json.Unmarshal(data, &queues); err != nil {
		return queueState{}, fmt.Errorf("reading /debug/queue: %w", err)
	}
	if len(queues) == 0 {
		return queueState{}, errors.New("/debug/queue has no queue: no controller runs")
	}
	var all queueState
	for _, q := range queues {
		all.Ready += q.Ready
		all.Delayed += q.Delayed
		all.InProcess += q.InProcess
	}
	return all, nil
}

// idleFor is how long the queue must be empty: longer than a write takes through the watches back into the queue.
const idleFor = time.Second

// idle waits until the queue stays empty, and returns when that began.
func (e *environment) idle(ctx context.Context) (time.Time, error) {
	var since time.Time
	for {
		q, err := e.queue(ctx)
		if err != nil {
			return since, err
		}
		now := time.Now()
		switch {
		case q.Ready+q.InProcess > 0:
			since = time.Time{}
		case since.IsZero():
			since = now
		case now.Sub(since) >= idleFor:
			return since, nil
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return since, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
