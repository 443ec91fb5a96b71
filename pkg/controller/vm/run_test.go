// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// The caller must get an error when it occurs, not when the process stops.
func TestRun_ReturnsImmediatelyIfItCannotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := assemble(t)
		stopped, stop := context.WithCancel(t.Context())
		a.deps.Informers.StartWithContext(stopped)
		stop()
		synctest.Wait()

		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- a.Run(ctx) }()
		synctest.Wait()
		select {
		case err := <-ran:
			if err == nil || !strings.Contains(err.Error(), "registering an event handler") {
				t.Errorf("error %v, want a registration error", err)
			}
		default:
			t.Error("Run continues although its informers have ended")
		}
		cancel()
		synctest.Wait()
	})
}

// quietProvider is a provider without events.
type quietProvider struct{ *scripted }

func (quietProvider) Watch(ctx context.Context, _ func(provider.Event)) { <-ctx.Done() }

// The initial list is queued with a low priority, whatever the state is. After a failed reconcile the key is queued
// with the priority of the state, because nothing else would raise it.
func TestRun_RequeuesWithThePriorityOfTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var a *assembled
		var priorities []int
		p := &scripted{update: func(*provider.Request) (<-chan error, error) {
			if priorities = append(priorities, a.Keys.Snapshot().Held[0].Priority); len(priorities) == 2 {
				cancel()
			}
			return nil, errors.New("broken")
		}}
		a = assembleWith(t, quietProvider{p}, fresh(), photon())
		if err := a.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if want := []int{controller.PriorityDefaultCreate, PriorityCreating}; !slices.Equal(priorities, want) {
			t.Errorf("priorities of the reconciles: %d, want %d", priorities, want)
		}
	})
}

func TestCollectors_IncludeQueueAndLoop(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, c := range assemble(t).Collectors() {
		if err := registry.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range families {
		names = append(names, f.GetName())
	}
	for _, want := range []string{"slipway_controller_active_workers", "slipway_controller_reconcile_total", "slipway_controller_reconcile_panics_total"} {
		if !slices.Contains(names, want) {
			t.Errorf("%s is missing in %q", want, names)
		}
	}
	if !slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, "queue") }) {
		t.Errorf("no metric of the queue in %q", names)
	}
}
