// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/workqueue"

	"github.com/slipway-dev/slipway/pkg/networks"
	"github.com/slipway-dev/slipway/pkg/priorityqueue"
)

const (
	// DefaultGrace is the default of Options.Grace, the same as in Cluster API.
	DefaultGrace = 5 * time.Minute
	// DefaultMaxConcurrent is the default of Options.MaxConcurrent. A silent cluster occupies a worker for 5 of every 30 seconds, so
	// 256 workers suffice for 1,000 silent clusters.
	DefaultMaxConcurrent = 256
	// period is the time between two probes.
	period = 10 * time.Second
	// threshold is the number of consecutive failed probes after which a connection is closed.
	threshold = 5
	// retryBase and retryMax are the minimum and maximum backoff between connection attempts.
	retryBase, retryMax = time.Second, 30 * time.Second
	// syncTimeout is the timeout of the first read of Nodes.
	syncTimeout = 5 * time.Minute
)

// Queue priorities of clusters.
const (
	connecting = iota
	probing
)

// Options configures Clusters.
type Options struct {
	// Host is a client of the cluster that stores the kubeconfig Secrets.
	Host kubernetes.Interface
	// Metadata watches the kubeconfig Secrets. If it is nil or lacks the permission, a change is noticed at the next
	// connection attempt.
	Metadata metadata.Interface
	// IsNeeded reports whether the connection to a cluster is still needed. It is called before each step and must not
	// block.
	IsNeeded func(cluster types.NamespacedName) bool
	// Networks are the networks that may be connected to.
	Networks networks.Networks
	// Wrap wraps the transport of all requests to workload clusters, for example to reject writes after the Lease was
	// lost. It may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
	// UserAgent is the user agent of all requests to workload clusters.
	UserAgent string
	// Grace is how long a cluster may not answer before the OnCluster callbacks are called.
	Grace time.Duration
	// MaxConcurrent is the maximum number of clusters that are connected or probed concurrently.
	MaxConcurrent int
}

// Clusters manages the connections to workload clusters that were requested.
type Clusters struct {
	options Options
	queue   *priorityqueue.Queue[types.NamespacedName]
	// connect opens a connection with a kubeconfig.
	connect func(ctx context.Context, cluster types.NamespacedName, kubeconfig []byte) (*Connection, error)
	// readSecret reads the kubeconfig of a cluster and the resource version of its Secret.
	readSecret func(ctx context.Context, cluster types.NamespacedName) (kubeconfig []byte, version string, err error)

	onCluster []func(types.NamespacedName)
	onNode    []func(types.NamespacedName, *corev1.Node)
	// hasMachine reports whether a Machine has a provider ID.
	hasMachine func(cluster types.NamespacedName, providerID string) bool
	// listSlots are the list slots of all clusters.
	listSlots  *listSlots
	readLimits *readLimits

	mu     sync.Mutex
	states map[types.NamespacedName]*clusterState
	counts counts
}

// New returns Clusters. Run starts to connect.
func New(o Options) *Clusters {
	type key = types.NamespacedName
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.MaxConcurrent == 0 {
		o.MaxConcurrent = DefaultMaxConcurrent
	}
	c := &Clusters{
		options: o, states: map[key]*clusterState{}, listSlots: newListSlots(), readLimits: newReadLimits(), hasMachine: func(key, string) bool { return true },
		queue: priorityqueue.New("workloadcluster",
			priorityqueue.WithFairness(func(k key) string { return k.Namespace }),
			priorityqueue.WithRateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[key](retryBase, retryMax))),
	}
	c.connect, c.readSecret = c.dial, c.readKubeconfig
	return c
}

// OnCluster adds a callback that is called when a cluster is connected, its connection ends, or it has not answered for
// longer than the grace period. f must not block. Call OnCluster before Run.
func (c *Clusters) OnCluster(f func(cluster types.NamespacedName)) {
	c.onCluster = append(c.onCluster, f)
}

// OnNode adds a callback that is called when the Node of a Machine was read, is created, changes or is deleted. If the
// Node was read or does not exist, the passed Node has only a provider ID. f must not block. Call OnNode before Run.
func (c *Clusters) OnNode(f func(cluster types.NamespacedName, node *corev1.Node)) {
	c.onNode = append(c.onNode, f)
}

// SetNodeFilter sets the function that reports whether a Machine has a provider ID. Nodes for which it returns false are
// removed from the cache. f must not block. Call SetNodeFilter before Run.
func (c *Clusters) SetNodeFilter(f func(cluster types.NamespacedName, providerID string) bool) {
	c.hasMachine = f
}

// Connection returns the connection to the workload cluster of a Cluster. It does not wait: if the cluster is not
// connected, it returns a NotConnectedError and requests a connection.
func (c *Clusters) Connection(cluster types.NamespacedName) (*Connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[cluster]
	if s == nil {
		s = &clusterState{disconnectedAt: time.Now(), reason: errNotAttempted}
		c.states[cluster] = s
		c.queue.AddWithOpts(priorityqueue.AddOpts{Priority: connecting}, cluster)
	}
	if !s.connected {
		return nil, &NotConnectedError{Cluster: cluster, Reason: s.reason, Since: s.disconnectedAt}
	}
	return s.conn, nil
}

// Probe returns the time of the last successful probe and the number of consecutive failures since then. The time is
// zero if the cluster has never answered.
func (c *Clusters) Probe(cluster types.NamespacedName) (success time.Time, failures int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.states[cluster]; s != nil {
		return s.lastSuccess, s.failures
	}
	return time.Time{}, 0
}

// Run connects to the clusters and probes them until ctx is done. It returns when all connections are closed. It must
// be called at most once.
func (c *Clusters) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	var running sync.WaitGroup
	defer c.closeAll()
	defer running.Wait()
	running.Go(func() { c.watchSecrets(ctx) })
	workers := make(chan struct{}, c.options.MaxConcurrent)
	for {
		// A worker is reserved first, so that the queue chooses the cluster when it can be processed.
		workers <- struct{}{}
		cluster, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		running.Go(func() {
			defer func() { <-workers }()
			defer c.queue.Done(cluster)
			c.step(ctx, cluster)
		})
	}
}

// closeAll closes the remaining connections. It does not hold the lock meanwhile, because a closing connection may call
// methods of c.
func (c *Clusters) closeAll() {
	c.mu.Lock()
	left := c.states
	c.states = map[types.NamespacedName]*clusterState{}
	c.mu.Unlock()
	for cluster, s := range left {
		if s.conn != nil {
			s.conn.close(&NotConnectedError{Cluster: cluster, Reason: errStopped, Since: time.Now(), ended: true})
		}
	}
}

func (c *Clusters) notifyCluster(cluster types.NamespacedName) {
	for _, f := range c.onCluster {
		f(cluster)
	}
}

func (c *Clusters) notifyNode(cluster types.NamespacedName, node *corev1.Node) {
	for _, f := range c.onNode {
		f(cluster, node)
	}
}
