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

// clusterState is the state of a cluster. Only the cluster's step writes it, while it holds the lock of Clusters. The
// field secretChanged is also written by other goroutines.
type clusterState struct {
	// conn is set after the first successful probe. connected is true when its Nodes can be queried.
	conn      *Connection
	connected bool
	// reason and disconnectedAt are the reason and the time at which the connection ended.
	reason         error
	disconnectedAt time.Time
	// lastSuccess is the time of the last successful probe. failures is the number of failed probes since then.
	lastSuccess time.Time
	failures    int
	// version is the resource version of the Secret that was read last, and sum the checksum of its kubeconfig.
	version string
	sum     [sha256.Size]byte
	// secretChanged is true if the Secret may have changed.
	secretChanged bool
	// isSilent is true if the callbacks were called after the grace period had passed without a response.
	isSilent bool
}

// Reasons why a cluster is not connected.
var (
	errNotAttempted      = errors.New("no connection attempt has been made yet")
	errSyncing           = errors.New("its Nodes are being read")
	errStopped           = errors.New("the server is shutting down")
	errKubeconfigChanged = errors.New("the kubeconfig has changed")
	errNotNeeded         = errors.New("the connection is no longer needed")
)

// step connects or probes one cluster and queues it again.
func (c *Clusters) step(ctx context.Context, cluster types.NamespacedName) {
	c.mu.Lock()
	s := c.states[cluster]
	c.mu.Unlock()
	if s == nil {
		return
	}
	if !c.options.IsNeeded(cluster) {
		c.remove(cluster, s)
		return
	}
	next := priorityqueue.AddOpts{Priority: probing, After: period}
	var err error
	if s.conn != nil {
		if err = c.checkConnection(ctx, cluster, s); err != nil {
			c.disconnect(ctx, cluster, s, err)
		}
	}
	// Reconnect immediately if another kubeconfig may resolve the failure.
	if s.conn == nil && (err == nil || errors.Is(err, errUnauthorized) || errors.Is(err, errKubeconfigChanged)) {
		c.tryConnect(ctx, cluster, s)
	}
	if ctx.Err() != nil {
		return
	}
	if s.conn == nil {
		next = priorityqueue.AddOpts{Priority: connecting, RateLimited: true}
	} else {
		c.queue.Forget(cluster)
	}
	c.checkGracePeriod(cluster, s)
	c.queue.AddWithOpts(next, cluster)
}

// remove removes a cluster whose connection is no longer needed.
func (c *Clusters) remove(cluster types.NamespacedName, s *clusterState) {
	c.mu.Lock()
	delete(c.states, cluster)
	c.queue.Remove(cluster) // While locked: a new request for the cluster queues it after this.
	c.mu.Unlock()
	c.queue.Forget(cluster)
	if s.conn != nil {
		s.conn.close(&NotConnectedError{Cluster: cluster, Reason: errNotNeeded, Since: time.Now(), ended: true})
	}
}

// tryConnect tries to connect and stores the error if that fails.
func (c *Clusters) tryConnect(ctx context.Context, cluster types.NamespacedName, s *clusterState) {
	c.mu.Lock()
	s.secretChanged = false
	c.mu.Unlock()
	kubeconfig, version, err := c.readSecret(ctx, cluster)
	var conn *Connection
	if err == nil {
		conn, err = c.connect(ctx, cluster, kubeconfig)
	}
	c.counts.connects.count(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.version = version
	if err != nil {
		if s.reason.Error() != err.Error() {
			klog.FromContext(ctx).Info("Could not connect to workload cluster", "cluster", cluster, "err", err)
		}
		s.reason = err
		s.failures++
		return
	}
	s.conn, s.reason, s.sum = conn, errSyncing, sha256.Sum256(kubeconfig)
	s.lastSuccess, s.failures = time.Now(), 0
}

// checkConnection probes a connection. An error means that it must be closed.
func (c *Clusters) checkConnection(ctx context.Context, cluster types.NamespacedName, s *clusterState) error {
	fatal, watchErr := s.conn.lastErrors()
	if fatal != nil {
		return fatal
	}
	if err := c.checkSecret(ctx, cluster, s); err != nil {
		return err
	}
	err := s.conn.probe(ctx)
	if ctx.Err() != nil {
		return nil // The server is shutting down.
	}
	c.counts.probes.count(err)
	if err := c.recordProbe(cluster, s, err); err != nil {
		return err
	}
	switch {
	case s.connected:
	case s.conn.isSynced():
		c.mu.Lock()
		s.connected = true
		c.mu.Unlock()
		klog.FromContext(ctx).Info("Connected to workload cluster", "cluster", cluster)
		c.notifyCluster(cluster)
	case time.Since(s.conn.startedAt) > syncTimeout:
		return shortError{fmt.Errorf("its Nodes could not be read within %s: %w", syncTimeout, watchErr)}
	case watchErr != nil:
		c.mu.Lock()
		s.reason = shortError{fmt.Errorf("reading its Nodes: %w", watchErr)}
		c.mu.Unlock()
	}
	return nil
}

// recordProbe records the result of a probe. An error means that the connection must be closed.
func (c *Clusters) recordProbe(cluster types.NamespacedName, s *clusterState, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		s.lastSuccess, s.failures = time.Now(), 0
		s.conn.rejection.Store(nil)
		return nil
	}
	s.failures++
	s.conn.rejection.Store(&NotConnectedError{Cluster: cluster, Reason: err, Since: s.lastSuccess})
	if errors.Is(err, errUnauthorized) {
		return err
	}
	if s.failures >= threshold {
		return fmt.Errorf("%d consecutive probes have failed; last error: %w", s.failures, err)
	}
	return nil
}

// checkSecret reads the Secret if it may have changed. A Secret that cannot be read counts as unchanged.
func (c *Clusters) checkSecret(ctx context.Context, cluster types.NamespacedName, s *clusterState) error {
	c.mu.Lock()
	changed := s.secretChanged
	s.secretChanged = false
	c.mu.Unlock()
	if !changed {
		return nil
	}
	kubeconfig, version, err := c.readSecret(ctx, cluster)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		s.secretChanged = true // Read it again at the next probe.
		return nil
	}
	s.version = version
	if sha256.Sum256(kubeconfig) != s.sum {
		return errKubeconfigChanged
	}
	return nil
}

// disconnect closes a connection.
func (c *Clusters) disconnect(ctx context.Context, cluster types.NamespacedName, s *clusterState, why error) {
	c.mu.Lock()
	conn, wasConnected := s.conn, s.connected
	s.conn, s.connected, s.reason, s.disconnectedAt = nil, false, why, time.Now()
	c.mu.Unlock()
	klog.FromContext(ctx).Info("Disconnected from workload cluster", "cluster", cluster, "reason", why.Error())
	conn.close(&NotConnectedError{Cluster: cluster, Reason: why, Since: time.Now(), ended: true})
	if wasConnected {
		c.notifyCluster(cluster)
	}
}

// close makes callers' requests fail and stops the connection.
func (c *Connection) close(why *NotConnectedError) {
	c.rejection.Store(why)
	c.stop()
}

// checkGracePeriod calls the callbacks once when a cluster has not responded for the grace period.
func (c *Clusters) checkGracePeriod(cluster types.NamespacedName, s *clusterState) {
	c.mu.Lock()
	from := s.lastSuccess
	if from.IsZero() {
		from = s.disconnectedAt
	}
	silent := s.failures > 0 && time.Since(from) > c.options.Grace
	mustNotify := silent && !s.isSilent
	s.isSilent = silent
	c.mu.Unlock()
	if mustNotify {
		c.notifyCluster(cluster)
	}
}
