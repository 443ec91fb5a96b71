// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-dev/slipway/test/catalogue"
	"github.com/slipway-dev/slipway/test/fleetcheck"
	"github.com/slipway-dev/slipway/test/vcenter/front"
)

// moment is the progress of the operations when the fault begins.
type moment struct{ name, says string }

var (
	asked      = moment{"asked", "the call has arrived, and nothing was done yet"}
	running    = moment{"running", "the call was answered, and its task runs"}
	unanswered = moment{"unanswered", "the call was carried out, and its answer is under way"}

	moments = []moment{asked, running, unanswered}
)

// cell is one combination. Its names are unique in its environment.
type cell struct {
	*environment
	fault  fault
	moment moment
	state  state

	namespace string
	machines  []machine
}

func newCell(e *environment, f fault, at moment, s state) *cell {
	c := &cell{environment: e, fault: f, moment: at, state: s, namespace: f.name + "-" + at.name + "-" + s.name}
	for _, m := range s.machines {
		m.name = m.name + "-" + f.name + "-" + at.name
		c.machines = append(c.machines, m)
	}
	return c
}

// run runs one cell in an empty namespace, which is empty again at the end. It returns the vSphere calls by VM.
func (c *cell) run(ctx context.Context, t *testing.T) map[string]fleetcheck.Counts {
	t.Helper()
	if err := c.prepare(ctx); err != nil {
		t.Fatalf("before the order: %v", err)
	}
	before, err := c.countCalls(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	start, err := c.check.Now(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.fly(ctx); err != nil {
		t.Fatalf("bringing the operations in flight: %v", err)
	}
	if err := c.strike(ctx, start); err != nil {
		t.Fatal(err)
	}
	if err := c.settled(ctx, c.wanted(false)); err != nil {
		t.Errorf("after the fault: %v", err)
	}
	counts, err := c.countCalls(ctx, before)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range c.machines {
		done, err := c.check.Done(ctx, start, m.name)
		if err != nil {
			t.Fatal(err)
		}
		c.judge(t, m, counts[m.name], done)
	}
	if err := c.clean(ctx); err != nil {
		t.Errorf("after all was deleted: %v", err)
	}
	return counts
}

// wanted returns the desired VMs at the start or at the end of the cell.
func (c *cell) wanted(begins bool) map[string]fleetcheck.Wish {
	want := map[string]fleetcheck.Wish{}
	for _, m := range c.machines {
		if begins && m.before != "" || !begins && m.after != "" {
			w := m.wish(c.namespace, begins)
			want[w.Key()] = w
		}
	}
	return want
}

// prepare creates the VMs that exist before the order.
func (c *cell) prepare(ctx context.Context) error {
	manifests := string(catalogue.Manifests(c.namespace))
	for _, m := range c.machines {
		if m.before != "" {
			manifests += manifest(c.namespace, m.name, m.before)
		}
	}
	if err := c.Apply(ctx, []byte(manifests)); err != nil {
		return err
	}
	c.namespaces = append(c.namespaces, c.namespace)
	if err := c.settled(ctx, c.wanted(true)); err != nil {
		return err
	}
	return c.check.Note(ctx)
}

// fly sends the order and waits until the operation of every VM has reached the moment.
func (c *cell) fly(ctx context.Context) error {
	held, tasks := map[string]int{}, map[string]int{}
	for _, m := range c.machines {
		held[c.holdOf(m)]++
		tasks[m.task]++
	}
	if err := c.hinder(ctx, true); err != nil {
		return err
	}
	for _, m := range c.machines {
		if m.after == "" {
			if err := c.delete(ctx, m.name); err != nil {
				return err
			}
			continue
		}
		if err := c.Apply(ctx, []byte(manifest(c.namespace, m.name, m.after))); err != nil {
			return err
		}
	}
	return until(ctx, "all operations are in flight", func(ctx context.Context) error {
		if c.moment != running {
			var now map[string]int
			if err := c.order(ctx, http.MethodGet, "/hold", &now); err != nil {
				return err
			}
			if diff := cmp.Diff(held, now); diff != "" {
				return fmt.Errorf("held (-want +got):\n%s", diff)
			}
			return nil
		}
		var now []struct{ Name, Entity string }
		if err := c.order(ctx, http.MethodGet, "/tasks", &now); err != nil {
			return err
		}
		missing := maps.Clone(tasks)
		for _, task := range now {
			missing[task.Name]--
		}
		for name, n := range missing {
			if n > 0 {
				return fmt.Errorf("%d tasks %s do not run yet: %v", n, name, now)
			}
		}
		return nil
	})
}

func (c *cell) holdOf(m machine) string {
	if c.moment == unanswered {
		return front.AnswerOf(m.held)
	}
	return m.held
}

// taskTime is the duration of tasks at the moment running, in milliseconds. It is longer than the time between the
// start of a task and that of the fault.
const taskTime = 10_000

// hinder makes the operations wait at the moment of the cell, or releases them.
func (c *cell) hinder(ctx context.Context, on bool) error {
	for _, m := range c.machines {
		path, method, ms := "/hold?method="+c.holdOf(m), http.MethodDelete, 0
		if on {
			method, ms = http.MethodPut, taskTime
		}
		if c.moment == running {
			path, method = fmt.Sprintf("/taskdelay?method=%s&ms=%d", m.task, ms), http.MethodPut
		}
		if err := c.order(ctx, method, path, nil); err != nil {
			return err
		}
	}
	return nil
}

// strike starts the fault, releases the operations, and ends the fault.
func (c *cell) strike(ctx context.Context, start fleetcheck.Moment) error {
	if err := c.fault.begin(ctx, c.environment); err != nil {
		return errors.Join(fmt.Errorf("the fault: %w", err), c.hinder(ctx, false))
	}
	if err := c.hinder(ctx, false); err != nil {
		return err
	}
	if c.fault.goesOn {
		err := until(ctx, "vSphere completes the requested operations", func(ctx context.Context) error {
			for _, m := range c.machines {
				done, err := c.check.Done(ctx, start, m.name)
				if err != nil {
					return err
				}
				if done[m.inFlight] == 0 {
					return fmt.Errorf("%s of %s has not taken effect", m.inFlight, m.name)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := c.fault.end(ctx, c.environment); err != nil {
		return fmt.Errorf("the end of the fault: %w", err)
	}
	return nil
}

// countCalls counts the vSphere calls by machine since the given count.
func (c *cell) countCalls(ctx context.Context, before map[string]fleetcheck.Counts) (map[string]fleetcheck.Counts, error) {
	seen, err := c.check.Look(ctx)
	if err != nil {
		return nil, err
	}
	counts := map[string]fleetcheck.Counts{}
	for i, m := range c.machines {
		c.machines[i].moIDs = append(c.machines[i].moIDs, seen.MachinesOf(c.namespace+"/"+m.name)...)
		if counts[m.name], err = c.check.Asked(ctx, m.name, c.machines[i].moIDs...); err != nil {
			return nil, err
		}
		for op, n := range before[m.name] {
			counts[m.name][op] -= n
		}
	}
	return counts, nil
}

// judge compares the vSphere calls for a machine, and their effects, with the ones that the order needs. No call may
// take effect twice. A call may be repeated only if the server cannot know that it was received.
func (c *cell) judge(t *testing.T, m machine, asked, done fleetcheck.Counts) {
	t.Helper()
	for _, op := range fleetcheck.Operations() {
		if op == fleetcheck.Reconfigure && m.inFlight == fleetcheck.Create {
			continue // a create is completed by one call or more, and repeating one has no effect
		}
		if op != fleetcheck.Other && done[op] != m.asked[op] {
			t.Errorf("%s: %s took effect %d times, want %d", m.name, op, done[op], m.asked[op])
		}
		most := m.asked[op]
		if op == m.inFlight {
			most += c.fault.again(c.moment)
		}
		if asked[op] < m.asked[op] || asked[op] > most {
			t.Errorf("%s: %s was asked for %d times, want %d to %d", m.name, op, asked[op], m.asked[op], most)
		}
	}
}

// clean deletes the objects of the cell.
func (c *cell) clean(ctx context.Context) error {
	for _, m := range c.machines {
		if err := c.delete(ctx, m.name); err != nil {
			return err
		}
	}
	return c.settled(ctx, nil)
}

// result is a cell of the table: the number of calls in addition to those that the order needs.
func (c *cell) result(t *testing.T, counts map[string]fleetcheck.Counts) string {
	if t.Failed() {
		return "**fails**"
	}
	again := map[string]bool{}
	for _, m := range c.machines {
		if counts[m.name][m.inFlight] > m.asked[m.inFlight] {
			again[string(m.inFlight)] = true
		}
	}
	if len(again) == 0 {
		return "right"
	}
	return "right; asked again: " + strings.Join(slices.Sorted(maps.Keys(again)), ", ")
}
