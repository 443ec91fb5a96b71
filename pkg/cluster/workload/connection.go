// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Limits of clients, those of Cluster API.
const (
	qps, burst = 20, 30
	// requestTimeout bounds a request of a caller, and one for the kubeconfig.
	requestTimeout = 10 * time.Second
	// streamTimeout bounds lists and watches of informers; a watch is asked for ten minutes at most.
	streamTimeout = 11 * time.Minute
	// probeTimeout bounds a probe.
	probeTimeout = 5 * time.Second
)

// Connection is one to a workload cluster. It is used as long as Clusters hands it out and
// asked for again in the next pass; after it has ended its requests fail with ErrNotConnected.
// What it returns of Nodes and Namespaces is shared and must not be changed.
type Connection struct {
	cluster types.NamespacedName
	client  kubernetes.Interface
	nodes   cache.SharedIndexInformer
	spaces  *namespaces

	// shut says why callers' requests fail at once.
	shut atomic.Pointer[NotConnectedError]
	// ask is a probe, known says whether all Nodes are, end ends everything and returns when
	// it has.
	ask   func(context.Context) error
	known func() bool
	end   func()
	// begun is when it was made.
	begun time.Time
	// visits has an element for each that lasts.
	visits chan struct{}

	mu sync.Mutex
	// fatal is what no retry mends, and watching what went wrong with the watch last.
	fatal, watching error
}

// Client sends requests of callers: 20 a second, each of ten seconds at most. Lists are not
// cached. Who sends more than one does so within a Visit. Nothing of a Node that strip leaves out is lost by a patch of the rest.
func (c *Connection) Client() kubernetes.Interface { return c.client }

// Node returns the Node of a name, nil if there is none. Images, volumes in use, capacity and
// heartbeats are left out; see Client for all of it.
func (c *Connection) Node(name string) (*corev1.Node, error) {
	if err := c.ended(); err != nil {
		return nil, err
	}
	obj, found, err := c.nodes.GetIndexer().GetByKey(name)
	if err != nil {
		return nil, fmt.Errorf("looking up Node %s of workload cluster %s: %w", name, c.cluster, err)
	}
	node, ok := obj.(*corev1.Node)
	if !found || !ok {
		return nil, nil
	}
	return node, nil
}

// NodesByProviderID returns all Nodes that have an ID: none, one, or more by mistake. None has
// the empty ID.
func (c *Connection) NodesByProviderID(id string) ([]*corev1.Node, error) {
	if err := c.ended(); err != nil {
		return nil, err
	}
	objs, err := c.nodes.GetIndexer().ByIndex(byProviderID, id)
	if err != nil {
		return nil, fmt.Errorf("looking up the Nodes of workload cluster %s with provider ID %q: %w", c.cluster, id, err)
	}
	var nodes []*corev1.Node
	for _, obj := range objs {
		if node, ok := obj.(*corev1.Node); ok {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// Namespaces lists them with their labels. The first call starts to watch them; until all are
// known it is an error, for which errors.Is finds ErrNotConnected, and OnCluster tells when
// they are.
func (c *Connection) Namespaces() (corelisters.NamespaceLister, error) {
	if err := c.ended(); err != nil {
		return nil, err
	}
	return c.spaces.lister(c.cluster)
}

// ended is an error when the connection has ended. One that fails still knows its Nodes.
func (c *Connection) ended() error {
	if why := c.shut.Load(); why != nil && why.ended {
		return why
	}
	return nil
}

// broken keeps what no retry mends.
func (c *Connection) broken(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fatal == nil {
		c.fatal = err
	}
}

// failed keeps what went wrong with the watch last.
func (c *Connection) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watching = err
}

// state returns what broken and failed keep.
func (c *Connection) state() (fatal, watching error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fatal, c.watching
}

// dialling is what a connection is made with.
type dialling struct {
	cluster types.NamespacedName
	config  *rest.Config
	// wake is called when the connection is to be looked at: Nodes are known, it is broken, or
	// a caller got no answer.
	wake func()
	// node is called for every change of a Node, and spaces when Namespaces are known.
	node   func(*corev1.Node)
	spaces func()
}

// dial makes a connection of a configuration that has dialer, proxy and wrappers, probes it,
// and starts to watch its Nodes. ctx bounds the connection, not only its start.
func dial(ctx context.Context, d dialling) (*Connection, error) {
	c := &Connection{cluster: d.cluster, begun: time.Now(), visits: make(chan struct{}, maxVisits)}
	transport, err := rest.TransportFor(d.config)
	if err != nil {
		return nil, fmt.Errorf("making a client of the kubeconfig: %w", err)
	}
	// Not that of the client: it does not look behind what is around the transport.
	closeIdle := func() { utilnet.CloseIdleConnectionsFor(transport) }
	own := &http.Client{Transport: transport, Timeout: streamTimeout, CheckRedirect: noRedirect}
	callers := &http.Client{Transport: gate{next: transport, shut: &c.shut, suspect: d.wake}, Timeout: requestTimeout, CheckRedirect: noRedirect}
	limited := rest.CopyConfig(d.config)
	limited.QPS, limited.Burst = qps, burst
	client, err := kubernetes.NewForConfigAndClient(limited, callers)
	if err != nil {
		return nil, fmt.Errorf("making a client of the kubeconfig: %w", err)
	}
	free := rest.CopyConfig(d.config)
	free.QPS = -1
	watcher, err := kubernetes.NewForConfigAndClient(free, own)
	if err != nil {
		return nil, fmt.Errorf("making a client of the kubeconfig: %w", err)
	}
	c.client = client
	c.ask = func(ctx context.Context) error { return probe(ctx, watcher.Discovery().RESTClient()) }
	if err := c.ask(ctx); err != nil {
		closeIdle()
		return nil, err
	}
	return c, c.watch(ctx, d, watcher, closeIdle)
}

// watch starts the informer of Nodes and makes what ends it.
func (c *Connection) watch(ctx context.Context, d dialling, watcher kubernetes.Interface, closeIdle func()) error {
	broken := func(err error) { c.broken(err); d.wake() }
	c.nodes = nodesOf(watcher.CoreV1().Nodes(), broken)
	err := c.nodes.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { c.failed(err) })
	if err != nil {
		return fmt.Errorf("watching the Nodes: %w", err)
	}
	told, err := c.nodes.AddEventHandler(tell(d.node))
	if err != nil {
		return fmt.Errorf("watching the Nodes: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	c.known = told.HasSynced
	c.spaces = &namespaces{ctx: ctx, running: &running, client: watcher.CoreV1().Namespaces(), known: d.spaces, broken: broken}
	c.end = func() {
		c.spaces.close()
		cancel()
		running.Wait()
		closeIdle()
	}
	running.Go(func() { c.nodes.RunWithContext(ctx) })
	running.Go(func() {
		select {
		case <-told.HasSyncedChecker().Done():
			d.wake()
		case <-ctx.Done():
		}
	})
	return nil
}

// errUnauthorized is what another kubeconfig mends, and waiting does not.
var errUnauthorized = errors.New("the cluster refuses the credentials of the kubeconfig (401)")

// probe asks the server whether it is there. An answer that only says that the user may not
// see the page tells that it is; of what else it says nothing is shown but the code.
func probe(ctx context.Context, client rest.Interface) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	err := client.Get().AbsPath("/").Do(ctx).Error()
	var status apierrors.APIStatus
	switch {
	case err == nil, apierrors.IsForbidden(err):
		return nil
	case apierrors.IsUnauthorized(err):
		return errUnauthorized
	case errors.As(err, &status) && status.Status().Code != 0:
		return fmt.Errorf("GET / is answered with %d", status.Status().Code)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("GET / is not answered within %s", probeTimeout)
	}
	return shortError{err}
}

// configure makes config what dial takes.
func (o *Options) configure(config *rest.Config) *rest.Config {
	config.Timeout = requestTimeout
	config.UserAgent = o.UserAgent
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.WarningHandler = rest.NoWarnings{}
	config.Dial = dialer(&o.Networks)
	config.Proxy = direct
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounded{next: next, bytes: maxAnswer} })
	if o.Wrap != nil {
		config.Wrap(o.Wrap)
	}
	return config
}
