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

// state is the state of a cluster. Only the cluster's step writes it, while it holds the lock of Clusters. The field
// changed is also written by other goroutines.
type state struct {
	// conn is set after the first successful probe. connected is true when its Nodes can be queried.
	conn      *Connection
	connected bool
	// why and since are the reason and the time at which the connection ended.
	why   error
	since time.Time
	// success is the time of the last successful probe, and failures the number of failures since then.
	success  time.Time
	failures int
	// version is the resource version of the Secret that was read last, and sum the checksum of its kubeconfig.
	version string
	sum     [sha256.Size]byte
	// changed is true if the Secret may have changed.
	changed bool
	// silent is true if the callbacks were called for the end of the grace period.
	silent bool
}

// Reasons why a cluster is not connected.
var (
	errNotYet  = errors.New("no connection attempt has been made yet")
	errSyncing = errors.New("its Nodes are being read")
	errStopped = errors.New("the server is shutting down")
	errAnother = errors.New("the kubeconfig has changed")
	errGone    = errors.New("the connection is no longer needed")
)

// step connects or probes one cluster and queues it again.
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
	// If another kubeconfig may resolve the failure, reconnect immediately.
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

// drop removes a cluster whose connection is no longer needed.
func (c *Clusters) drop(cluster types.NamespacedName, s *state) {
	c.mu.Lock()
	delete(c.states, cluster)
	c.queue.Remove(cluster) // While locked: a new request for the cluster queues it after this.
	c.mu.Unlock()
	c.queue.Forget(cluster)
	if s.conn != nil {
		s.conn.close(&NotConnectedError{Cluster: cluster, Reason: errGone, Since: time.Now(), ended: true})
	}
}

// begin tries to connect and stores the error if that fails.
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
			klog.FromContext(ctx).Info("Could not connect to workload cluster", "cluster", cluster, "err", err)
		}
		s.why = err
		s.failures++
		return
	}
	s.conn, s.why, s.sum = conn, errSyncing, sha256.Sum256(kubeconfig)
	s.success, s.failures = time.Now(), 0
}

// check probes a connection. An error means that it must be closed.
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
		return nil // the server is shutting down
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
		klog.FromContext(ctx).Info("Connected to workload cluster", "cluster", cluster)
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

// judge records the result of a probe. An error means that the connection must be closed.
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
		return fmt.Errorf("%d consecutive probes have failed; last error: %w", s.failures, err)
	}
	return nil
}

// reread reads the Secret if it may have changed. A Secret that cannot be read counts as unchanged.
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
		s.changed = true // Read it again at the next probe.
		return nil
	}
	s.version = version
	if sha256.Sum256(kubeconfig) != s.sum {
		return errAnother
	}
	return nil
}

// lose closes a connection.
func (c *Clusters) lose(ctx context.Context, cluster types.NamespacedName, s *state, why error) {
	c.mu.Lock()
	conn, told := s.conn, s.connected
	s.conn, s.connected, s.why, s.since = nil, false, why, time.Now()
	c.mu.Unlock()
	klog.FromContext(ctx).Info("Disconnected from workload cluster", "cluster", cluster, "reason", why.Error())
	conn.close(&NotConnectedError{Cluster: cluster, Reason: why, Since: time.Now(), ended: true})
	if told {
		c.tellCluster(cluster)
	}
}

// close makes callers' requests fail and stops the connection.
func (c *Connection) close(why *NotConnectedError) {
	c.shut.Store(why)
	c.end()
}

// watchSilence calls the callbacks once when the grace period of a cluster has ended.
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
