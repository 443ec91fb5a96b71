// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/catalogue"
	"github.com/slipway-dev/slipway/test/vcenter/front"
)

// Times of a restart.
const (
	// applyAfter is the time after the start of the process at which the early machine is first submitted. It is
	// submitted until the server accepts it.
	applyAfter = time.Second
	// tryAgain is the pause between two attempts while the server rejects a request.
	tryAgain = 5 * time.Millisecond
	// longestRestart is the time limit for a restart.
	longestRestart = 5 * time.Minute
	// profiledStart is the duration of the CPU profile of a restart.
	profiledStart = 10 * time.Second
	// tracedCalls is more than the number of calls of a restart and a new machine.
	tracedCalls = 50_000
)

// newcomer is a machine that is created while the server starts.
type newcomer struct {
	// event is when its watch event was received, call when vCenter received the first vSphere call for it, and created
	// when its condition Created became True.
	event, call, created time.Time
	// method is the first call for the machine, and queued is the length of the queue when the machine was created.
	method string
	queued int
}

// restart is the result of one restart. All times except those of machines are relative to the start of the new
// process.
type restart struct {
	// synced is when the server was ready: caches filled, inventory of vCenter read.
	synced time.Duration
	// drained is when every machine had been reconciled and the queue was empty.
	drained time.Duration
	// passes and writes are the numbers until then, without those of the new machines.
	passes, writes float64
	// early was applied a second after the start. late was applied when the server was ready and reconciled all
	// machines.
	early, late newcomer
}

// restarts performs the requested number of restarts, in their own namespace.
func (e *environment) restarts(ctx context.Context) ([]restart, error) {
	namespace := fmt.Sprintf("newcomers-%d", time.Now().Unix()) // others may exist from an earlier run
	if err := e.cluster.Apply(ctx, catalogue.Manifests(namespace)); err != nil {
		return nil, err
	}
	var all []restart
	for i := range e.settings.tries {
		if _, err := e.idle(ctx); err != nil {
			return all, err
		}
		r, err := e.restart(ctx, namespace, fmt.Sprintf("try-%02d", i))
		if err != nil {
			return all, fmt.Errorf("restart %d: %w", i+1, err)
		}
		progress("restart %d: ready after %s, passes done after %s, first call %s and %s, created %s and %s after the event, with %d and %d queued", i+1,
			r.synced.Round(time.Millisecond), r.drained.Round(time.Millisecond),
			r.early.reaction().Round(10*time.Microsecond), r.late.reaction().Round(10*time.Microsecond),
			r.early.creation().Round(time.Millisecond), r.late.creation().Round(time.Millisecond), r.early.queued, r.late.queued)
		all = append(all, r)
	}
	return all, nil
}

// reaction is the time from the event to the first call for the machine. Earlier lookups, such as of its network, are
// not included, because they cannot be distinguished from those of other machines.
func (n newcomer) reaction() time.Duration { return n.call.Sub(n.event) }

// creation is from the event until the vSphere VM is created.
func (n newcomer) creation() time.Duration { return n.created.Sub(n.event) }

func (e *environment) restart(ctx context.Context, namespace, name string) (restart, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, longestRestart, fmt.Errorf("not done after %s", longestRestart))
	defer cancel()
	var r restart
	if _, err := e.control(ctx, http.MethodPut, fmt.Sprintf("/trace?calls=%d", tracedCalls)); err != nil {
		return r, err
	}
	old := e.cluster.PID(partSlipway)
	restarted := make(chan error, 1)
	go func() { restarted <- e.cluster.RestartSlipway(ctx) }()
	started, err := e.started(ctx, old, restarted)
	if err != nil {
		return r, err
	}
	finish := e.record(ctx, "start.pprof", profiledStart)
	early := make(chan error, 1)
	go func() {
		err := pause(ctx, time.Until(started.Add(applyAfter)))
		if err == nil {
			err = e.newcomer(ctx, namespace, name+"-early", &r.early)
		}
		early <- err
	}()
	ready := func() error {
		// A replica without the Lease is ready too, but has no queue.
		if _, err := e.queue(ctx); err != nil {
			return err
		}
		_, err := e.slipway.Read(ctx, "/readyz")
		return err
	}
	if err := until(ctx, ready); err != nil {
		return r, fmt.Errorf("waiting for /readyz: %w", err)
	}
	r.synced = time.Since(started)
	if err := e.newcomer(ctx, namespace, name+"-late", &r.late); err != nil {
		return r, err
	}
	drained, err := e.idle(ctx)
	if err != nil {
		return r, err
	}
	r.drained = drained.Sub(started)
	after, err := e.sample(ctx)
	if err != nil {
		return r, err
	}
	r.passes, r.writes = after.passes, writes(after.slipway)
	if err := errors.Join(<-early, finish()); err != nil {
		return r, err
	}
	e.machines += 2
	if _, err := e.control(ctx, http.MethodPut, "/trace?calls=0"); err != nil {
		return r, err
	}
	return r, <-restarted
}

// started returns when a new process runs, or when the restart ended without one.
func (e *environment) started(ctx context.Context, old int, restarted <-chan error) (time.Time, error) {
	for {
		if pid := e.cluster.PID(partSlipway); pid != 0 && pid != old {
			return time.Now(), nil
		}
		select {
		case err := <-restarted:
			return time.Time{}, err
		default:
		}
		if err := pause(ctx, time.Millisecond); err != nil {
			return time.Time{}, err
		}
	}
}

// newcomer watches a name, creates the machine, and waits until it is ready.
func (e *environment) newcomer(ctx context.Context, namespace, name string, n *newcomer) error {
	machines := e.direct.VmV1alpha1().VirtualMachines(namespace)
	var events watch.Interface
	err := until(ctx, func() (err error) {
		events, err = machines.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		return err
	})
	if err != nil {
		return fmt.Errorf("watching %s: %w", name, err)
	}
	defer events.Stop()
	if q, err := e.queue(ctx); err == nil { // before the controllers run there is none
		n.queued = q.Ready
	}
	arrived, created := make(chan time.Time, 1), make(chan time.Time, 1)
	go func() {
		for event := range events.ResultChan() {
			if event.Type == watch.Added {
				arrived <- time.Now()
			}
			if vm, ok := event.Object.(*vmv1alpha1.VirtualMachine); ok && meta.IsStatusConditionTrue(vm.Status.Conditions, vmv1alpha1.ConditionCreated) {
				created <- time.Now()
				return
			}
		}
	}()
	var uid string
	made := machine(namespace, name)
	if e.settings.vcenters > 1 {
		made.Spec.Zone = vmv1alpha1.DefaultZone // the test only reads the calls to the first vCenter
	}
	err = until(ctx, func() error {
		vm, err := machines.Create(ctx, made, metav1.CreateOptions{})
		uid = string(vm.GetUID())
		return err
	})
	if err != nil {
		return fmt.Errorf("creating %s: %w", name, err)
	}
	for _, wait := range []struct {
		from chan time.Time
		to   *time.Time
	}{{arrived, &n.event}, {created, &n.created}} {
		select {
		case *wait.to = <-wait.from:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the events of %s: %w", name, context.Cause(ctx))
		}
	}
	return e.firstCall(ctx, n, name, uid)
}

// firstCall waits for the first vSphere call for the machine.
func (e *environment) firstCall(ctx context.Context, n *newcomer, texts ...string) error {
	for {
		data, err := e.control(ctx, http.MethodGet, "/trace?"+url.Values{"text": texts}.Encode())
		if err != nil {
			return err
		}
		var calls []front.TracedCall
		if err := json.Unmarshal(data, &calls); err != nil {
			return fmt.Errorf("reading the trace of vSphere calls: %w", err)
		}
		if len(calls) > 0 {
			n.call, n.method = calls[0].Time, calls[0].Call
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for a vSphere call that names %s: %w", texts, context.Cause(ctx))
		}
	}
}

// until retries f until it succeeds.
func until(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			return nil
		}
		if pause(ctx, tryAgain) != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}
}
