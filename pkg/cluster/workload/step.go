// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

// state is what is known of a cluster. Only the step of the cluster writes it, with the lock
// of Clusters; changed alone is written by others too.
type state struct {
	// conn is there from when the cluster has answered on, connected from when its Nodes can
	// be asked for on.
	conn      *Connection
	connected bool
	// why there is no connection, and since when.
	why   error
	since time.Time
	// success is when the cluster has answered last, and failures how often it has not since.
	success  time.Time
	failures int
	// version of the Secret that was read last, and the sum of its kubeconfig.
	version string
	sum     [sha256.Size]byte
	// changed is true when there may be another version.
	changed bool
	// silent is true when the end of the grace period was told.
	silent bool
}

// Reasons that end a connection, or keep it from being one.
var (
	errNotYet  = errors.New("it has not been tried yet")
	errSyncing = errors.New("its Nodes are being read")
	errStopped = errors.New("the server is shutting down")
	errAnother = errors.New("the kubeconfig has changed")
	errGone    = errors.New("nobody wants it any more")
)

// step looks at one cluster and says when to look again.
func (c *Clusters) step(ctx context.Context, cluster types.NamespacedName) {
	c.mu.Lock()
	s := c.states[cluster]
	c.mu.Unlock()
	if s == nil {
		return
	}
	if !c.options.Wanted(cluster) {
		c.drop(cluster, s)
		return
	}
	next := priorityqueue.AddOpts{Priority: probing, After: period}
	var err error
	if s.conn != nil {
		if err = c.check(ctx, cluster, s); err != nil {
			c.lose(ctx, cluster, s, err)
		}
	}
	// After a loss that another kubeconfig may mend the next try is at once.
	if s.conn == nil && (err == nil || errors.Is(err, errUnauthorized) || errors.Is(err, errAnother)) {
		c.begin(ctx, cluster, s)
	}
	if ctx.Err() != nil {
		return
	}
	if s.conn == nil {
		next = priorityqueue.AddOpts{Priority: connecting, RateLimited: true}
	} else {
		c.queue.Forget(cluster)
	}
	c.watchSilence(cluster, s)
	c.queue.AddWithOpts(next, cluster)
}

// drop forgets a cluster that nobody wants.
func (c *Clusters) drop(cluster types.NamespacedName, s *state) {
	c.mu.Lock()
	delete(c.states, cluster)
	c.queue.Remove(cluster) // with the lock: who asks for it again adds it after this
	c.mu.Unlock()
	c.queue.Forget(cluster)
	if s.conn != nil {
		s.conn.close(&NotConnectedError{Cluster: cluster, Reason: errGone, Since: time.Now(), ended: true})
	}
}

// begin tries to connect, and keeps why it could not.
func (c *Clusters) begin(ctx context.Context, cluster types.NamespacedName, s *state) {
	c.mu.Lock()
	s.changed = false
	c.mu.Unlock()
	kubeconfig, version, err := c.secret(ctx, cluster)
	var conn *Connection
	if err == nil {
		conn, err = c.connect(ctx, cluster, kubeconfig)
	}
	c.counts.connects.count(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.version = version
	if err != nil {
		if s.why.Error() != err.Error() {
			klog.FromContext(ctx).Info("A workload cluster could not be connected to", "cluster", cluster, "err", err)
		}
		s.why = err
		s.failures++
		return
	}
	s.conn, s.why, s.sum = conn, errSyncing, sha256.Sum256(kubeconfig)
	s.success, s.failures = time.Now(), 0
}

// check probes a connection. An error is a reason to end it.
func (c *Clusters) check(ctx context.Context, cluster types.NamespacedName, s *state) error {
	fatal, watching := s.conn.state()
	if fatal != nil {
		return fatal
	}
	if err := c.reread(ctx, cluster, s); err != nil {
		return err
	}
	err := s.conn.ask(ctx)
	if ctx.Err() != nil {
		return nil // this process ends
	}
	c.counts.probes.count(err)
	if err := c.judge(cluster, s, err); err != nil {
		return err
	}
	switch {
	case s.connected:
	case s.conn.known():
		c.mu.Lock()
		s.connected = true
		c.mu.Unlock()
		klog.FromContext(ctx).Info("Connected to a workload cluster", "cluster", cluster)
		c.tellCluster(cluster)
	case time.Since(s.conn.begun) > syncTimeout:
		return shortError{fmt.Errorf("its Nodes could not be read within %s: %w", syncTimeout, watching)}
	case watching != nil:
		c.mu.Lock()
		s.why = shortError{fmt.Errorf("reading its Nodes: %w", watching)}
		c.mu.Unlock()
	}
	return nil
}

// judge counts a probe. An error is a reason to end the connection.
func (c *Clusters) judge(cluster types.NamespacedName, s *state, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		s.success, s.failures = time.Now(), 0
		s.conn.shut.Store(nil)
		return nil
	}
	s.failures++
	s.conn.shut.Store(&NotConnectedError{Cluster: cluster, Reason: err, Since: s.success})
	if errors.Is(err, errUnauthorized) {
		return err
	}
	if s.failures >= threshold {
		return fmt.Errorf("%d probes in a row have failed, the last one with: %w", s.failures, err)
	}
	return nil
}

// reread reads the Secret when it may have changed. What cannot be read has not.
func (c *Clusters) reread(ctx context.Context, cluster types.NamespacedName, s *state) error {
	c.mu.Lock()
	changed := s.changed
	s.changed = false
	c.mu.Unlock()
	if !changed {
		return nil
	}
	kubeconfig, version, err := c.secret(ctx, cluster)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		s.changed = true // to be read with the next probe
		return nil
	}
	s.version = version
	if sha256.Sum256(kubeconfig) != s.sum {
		return errAnother
	}
	return nil
}

// lose ends a connection.
func (c *Clusters) lose(ctx context.Context, cluster types.NamespacedName, s *state, why error) {
	c.mu.Lock()
	conn, told := s.conn, s.connected
	s.conn, s.connected, s.why, s.since = nil, false, why, time.Now()
	c.mu.Unlock()
	klog.FromContext(ctx).Info("The connection to a workload cluster has ended", "cluster", cluster, "reason", why.Error())
	conn.close(&NotConnectedError{Cluster: cluster, Reason: why, Since: time.Now(), ended: true})
	if told {
		c.tellCluster(cluster)
	}
}

// close ends the connection for callers, then everything that runs for it.
func (c *Connection) close(why *NotConnectedError) {
	c.shut.Store(why)
	c.end()
}

// watchSilence tells once that the cluster has not answered for longer than the grace period.
func (c *Clusters) watchSilence(cluster types.NamespacedName, s *state) {
	c.mu.Lock()
	from := s.success
	if from.IsZero() {
		from = s.since
	}
	silent := s.failures > 0 && time.Since(from) > c.options.Grace
	tell := silent && !s.silent
	s.silent = silent
	c.mu.Unlock()
	if tell {
		c.tellCluster(cluster)
	}
}
