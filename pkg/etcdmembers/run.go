// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdmembers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
)

const (
	// runInterval is how often the leader looks at the record.
	runInterval = 2 * time.Second
	// stepTimeout bounds each step. etcd gives up after seven seconds.
	stepTimeout = 10 * time.Second
	// leaveTimeout bounds how long a replica that is not wanted any more tries to leave.
	leaveTimeout = 15 * time.Second
)

// run keeps the members as they should be while this one leads, until ctx is done.
func (m *Member) run(ctx context.Context) {
	ticker := time.NewTicker(runInterval)
	defer ticker.Stop()
	var r reporter
	for {
		if m.Leads() {
			r.report(ctx, m.lead(ctx, &r))
		} else {
			r.learner = 0
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// reporter remembers between two rounds.
type reporter struct {
	// learner is the one that there is, and since when.
	learner uint64
	since   time.Time
	said    string
	saidAt  time.Time
}

func (r *reporter) report(ctx context.Context, err error) {
	switch {
	case err == nil:
		r.said = ""
	case ctx.Err() != nil, err.Error() == r.said && time.Since(r.saidAt) < time.Minute:
	default:
		r.said, r.saidAt = err.Error(), time.Now()
		klog.FromContext(ctx).Error(err, "Keeping the members of the embedded etcd failed and will be repeated", "interval", runInterval)
	}
}

// waits is for how long there has been this learner.
func (r *reporter) waits(members []embedded.Member) time.Duration {
	for _, m := range members {
		if !m.Learner {
			continue
		}
		if m.ID != r.learner {
			r.learner, r.since = m.ID, time.Now()
		}
		return time.Since(r.since)
	}
	r.learner = 0
	return 0
}

// lead does steps until there is nothing to do.
func (m *Member) lead(ctx context.Context, r *reporter) error {
	for ctx.Err() == nil && m.Leads() {
		v := &view{self: m.ID(), cluster: m.Cluster(), members: m.Members()}
		v.waits = r.waits(v.members)
		bounded, cancel := context.WithTimeout(ctx, stepTimeout)
		more, err := m.step(bounded, v)
		cancel()
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// step does the next thing that the leader has to do.
func (m *Member) step(ctx context.Context, v *view) (more bool, err error) {
	if v.record, err = m.records.read(ctx); err != nil {
		return false, err
	}
	if v.wanted, err = m.options.Wanted(ctx); err != nil {
		return false, err
	}
	if len(v.unwanted()) > 0 {
		v.silent = m.Silent(ctx)
	}
	a := next(v)
	logger := klog.FromContext(ctx).WithValues("name", a.member.Name, "address", a.member.Address, "id", hex(a.member.ID), "reason", a.reason)
	switch a.verb {
	case nothing:
		return false, nil
	case write:
		if v.record != nil && v.record.lost != "" {
			logger.Info("Removing an annotation that is not true", "annotation", LostAnnotation, "said", v.record.lost)
		}
		return true, m.records.change(ctx, func(r *record) *record {
			current := *v
			current.record = r
			return current.recorded()
		})
	case promote:
		if err := m.Promote(ctx, a.member.ID); err != nil {
			if errors.Is(err, embedded.ErrNotReady) {
				err = nil
			}
			return false, err
		}
		logger.Info("A member of the embedded etcd has caught up and is a full one now")
	case add:
		added, err := m.AddLearner(ctx, a.member.Address)
		if err != nil {
			return false, err
		}
		logger.Info("Added a member to the embedded etcd", "id", hex(added.ID))
		return true, m.tell(ctx, a, added)
	case remove:
		if err := m.Remove(ctx, a.member.ID); err != nil {
			return false, err
		}
		logger.Info("Removed a member of the embedded etcd")
	case yield:
		return false, m.Yield(ctx, a.member.ID)
	}
	return true, nil
}

// tell tells a replica that it was added, and the members among which it begins.
func (m *Member) tell(ctx context.Context, a action, added embedded.Member) error {
	v := &view{self: m.ID(), cluster: m.Cluster(), members: m.Members()}
	return m.records.change(ctx, func(r *record) *record {
		if r == nil {
			return nil
		}
		r.added[a.name] = answer{a.directory, added.ID}
		current := *v
		current.record = r
		return current.recorded()
	})
}

// Close ends the member. One of a replica that is not wanted any more leaves the cluster first.
func (m *Member) Close() {
	m.stop()
	m.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), leaveTimeout)
	defer cancel()
	if err := m.leave(ctx); err != nil {
		klog.Background().Error(err, "This member of the embedded etcd did not leave", "name", m.options.Name)
	}
	m.Server.Close()
}

func (m *Member) leave(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, hostTimeout)
	wanted, err := m.options.Wanted(bounded)
	cancel()
	if err != nil || wanted(m.options.Name) {
		return err
	}
	for {
		v := &view{self: m.ID(), members: m.Members(), wanted: wanted}
		if _, others := v.successor(); !others || m.removed(ctx) {
			return nil // the last one leaves no cluster behind
		}
		v.silent = m.Silent(ctx)
		to, follows := v.successor()
		switch {
		case follows && m.Leads():
			err = m.Yield(ctx, to.ID) // who leads then removes those that are dead
		case !v.outlives(v.self):
			err = errors.New("without it the members that answer would have no quorum")
		default:
			if err = m.Remove(ctx, m.ID()); err == nil {
				klog.Background().Info("This member has left the embedded etcd: there are to be fewer replicas", "name", m.options.Name)
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; at last: %w", ctx.Err(), err)
		case <-time.After(lookInterval / 2):
		}
	}
}

// removed tells whether the record does not have this member any more. The others need not have
// told it before they left it alone.
func (m *Member) removed(ctx context.Context) bool {
	bounded, cancel := context.WithTimeout(ctx, hostTimeout)
	defer cancel()
	r, err := m.records.read(bounded)
	if err != nil || r == nil || r.cluster != m.Cluster() {
		return false
	}
	_, listed := r.member(m.ID())
	return !listed
}
