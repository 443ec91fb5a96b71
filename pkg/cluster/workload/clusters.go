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
	// DefaultGrace is Options.Grace when that is 0, as in Cluster API.
	DefaultGrace = 5 * time.Minute
	// DefaultPlaces is Options.Places when that is 0: of clusters that are silent each takes one for five
	// seconds out of thirty, so that it is enough for a thousand of them.
	DefaultPlaces = 256
	// period is the time between two probes.
	period = 10 * time.Second
	// threshold is the number of failed probes that end a connection.
	threshold = 5
	// retryBase and retryMax bound the growing delay between tries to connect.
	retryBase, retryMax = time.Second, 30 * time.Second
	// syncTimeout bounds the first read of Nodes.
	syncTimeout = 5 * time.Minute
)

// Priorities of clusters that are due.
const (
	connecting = iota
	probing
)

// Options configure Clusters.
type Options struct {
	// Host is the cluster that has the Secrets.
	Host kubernetes.Interface
	// Metadata watches there which Secrets change. Without it, or the right to it, that is
	// noticed with the next try.
	Metadata metadata.Interface
	// Wanted is false for a cluster that nobody needs any more. It is asked before each step
	// and may not block.
	Wanted func(cluster types.NamespacedName) bool
	// Networks are those that may be connected to.
	Networks networks.Networks
	// Wrap is around every request to workload clusters, for example to let nobody write who
	// has lost a Lease. It may be nil.
	Wrap func(http.RoundTripper) http.RoundTripper
	// UserAgent names this process to the clusters.
	UserAgent string
	// Grace is how long a cluster may be silent before OnCluster is told.
	Grace time.Duration
	// Places bounds how many clusters are connected to or probed at once.
	Places int
}

// Clusters are the workload clusters that somebody has asked for.
type Clusters struct {
	options Options
	queue   *priorityqueue.Queue[types.NamespacedName]
	// connect makes a connection of what a Secret says.
	connect func(ctx context.Context, cluster types.NamespacedName, kubeconfig []byte) (*Connection, error)
	// secret reads it, with its resource version.
	secret func(ctx context.Context, cluster types.NamespacedName) (kubeconfig []byte, version string, err error)

	onCluster []func(types.NamespacedName)
	onNode    []func(types.NamespacedName, *corev1.Node)
	// hasMachine reports whether a Machine has a provider ID.
	hasMachine func(cluster types.NamespacedName, providerID string) bool
	// lists are the slots of the server.
	lists *slots
	pace  *pace

	mu     sync.Mutex
	states map[types.NamespacedName]*state
	counts counts
}

// New returns Clusters that connect to nothing before Run.
func New(o Options) *Clusters {
	type key = types.NamespacedName
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Places == 0 {
		o.Places = DefaultPlaces
	}
	c := &Clusters{
		options: o, states: map[key]*state{}, lists: newSlots(), pace: newPace(), hasMachine: func(key, string) bool { return true },
		queue: priorityqueue.New("workloadcluster",
			priorityqueue.WithFairness(func(k key) string { return k.Namespace }),
			priorityqueue.WithRateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[key](retryBase, retryMax))),
	}
	c.connect, c.secret = c.dial, c.read
	return c
}

// OnCluster has f called when a cluster was connected, its connection has ended, or it has been
// silent for longer than the grace period. f may not block. It is called before Run.
func (c *Clusters) OnCluster(f func(cluster types.NamespacedName)) {
	c.onCluster = append(c.onCluster, f)
}

// OnNode has f called when the Node of a Machine was read, is created, changes or is deleted. Of a Node that was
// read, or is not there, f gets the provider ID alone. f may not block. It is called before Run.
func (c *Clusters) OnNode(f func(cluster types.NamespacedName, node *corev1.Node)) {
	c.onNode = append(c.onNode, f)
}

// KeepNodes has Nodes forgotten of whose provider IDs f returns false: no Machine has them any more. f may not block.
// It is called before Run.
func (c *Clusters) KeepNodes(f func(cluster types.NamespacedName, providerID string) bool) {
	c.hasMachine = f
}

// Connection returns the connection to the cluster of a Cluster. It never waits: without one
// it returns a NotConnectedError, and asks for one.
func (c *Clusters) Connection(cluster types.NamespacedName) (*Connection, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.states[cluster]
	if s == nil {
		s = &state{since: time.Now(), why: errNotYet}
		c.states[cluster] = s
		c.queue.AddWithOpts(priorityqueue.AddOpts{Priority: connecting}, cluster)
	}
	if !s.connected {
		return nil, &NotConnectedError{Cluster: cluster, Reason: s.why, Since: s.since}
	}
	return s.conn, nil
}

// Probe tells when the cluster has last answered, zero if never, and how often in a row it
// could not be connected to or did not answer since.
func (c *Clusters) Probe(cluster types.NamespacedName) (success time.Time, failures int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.states[cluster]; s != nil {
		return s.success, s.failures
	}
	return time.Time{}, 0
}

// Run keeps the connections until ctx is done, and returns when all have ended. It is called
// at most once.
func (c *Clusters) Run(ctx context.Context) {
	defer context.AfterFunc(ctx, c.queue.ShutDown)()
	var running sync.WaitGroup
	defer c.closeAll()
	defer running.Wait()
	running.Go(func() { c.watchSecrets(ctx) })
	places := make(chan struct{}, c.options.Places)
	for {
		// The place comes first: who goes is decided when one can.
		places <- struct{}{}
		cluster, shutdown := c.queue.Get()
		if shutdown {
			return
		}
		running.Go(func() {
			defer func() { <-places }()
			defer c.queue.Done(cluster)
			c.step(ctx, cluster)
		})
	}
}

// closeAll ends what is left. Nothing waits with the lock: what ends may be calling us.
func (c *Clusters) closeAll() {
	c.mu.Lock()
	left := c.states
	c.states = map[types.NamespacedName]*state{}
	c.mu.Unlock()
	for cluster, s := range left {
		if s.conn != nil {
			s.conn.close(&NotConnectedError{Cluster: cluster, Reason: errStopped, Since: time.Now(), ended: true})
		}
	}
}

func (c *Clusters) tellCluster(cluster types.NamespacedName) {
	for _, f := range c.onCluster {
		f(cluster)
	}
}

func (c *Clusters) tellNode(cluster types.NamespacedName, node *corev1.Node) {
	for _, f := range c.onNode {
		f(cluster, node)
	}
}
