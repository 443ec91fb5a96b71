// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Limits of clients, those of Cluster API.
const (
	qps, burst = 20, 30
	// requestTimeout bounds a request of a caller, and one for the kubeconfig.
	requestTimeout = 10 * time.Second
	// streamTimeout bounds a watch, which is requested for ten minutes.
	streamTimeout = 11 * time.Minute
	// probeTimeout bounds a probe.
	probeTimeout = 5 * time.Second
)

// Connection is one to a workload cluster. It is used as long as Clusters hands it out and
// asked for again in the next pass; after it has ended its requests fail with ErrNotConnected.
// The Nodes that it returns are shared and must not be changed.
type Connection struct {
	cluster types.NamespacedName
	client  kubernetes.Interface
	nodes   *nodes

	// shut says why callers' requests fail at once.
	shut atomic.Pointer[NotConnectedError]
	// ask is a probe, known reports whether Nodes can be asked for, end ends everything and returns when
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
// cached. A caller that sends more than one does so within a Visit, and holds a slot while it reads lists.
func (c *Connection) Client() kubernetes.Interface { return c.client }

// ListSlot returns a slot for lists, of which the server has four and each namespace one; done returns the slot.
// While others have the slots it returns an error for which errors.Is finds ErrBusy.
func (c *Connection) ListSlot() (done func(), err error) {
	if done = c.nodes.lists.try(c.cluster.Namespace); done == nil {
		return nil, fmt.Errorf("reading lists of workload cluster %s: %w", c.cluster, ErrBusy)
	}
	return done, nil
}

// Nodes returns the Nodes that have the provider ID of a Machine: none, one, or several if a cluster has more by mistake.
// name is that of the Node if the Machine knows it; without a name no Node is left out. Until they were read the error is one for which errors.Is finds
// ErrNotConnected and ErrReading, and OnNode reports that they were read.
func (c *Connection) Nodes(providerID, name string) ([]*Node, error) {
	if err := c.ended(); err != nil || providerID == "" {
		return nil, err
	}
	found, err := c.nodes.find(providerID, name)
	if err != nil {
		return nil, &NotConnectedError{Cluster: c.cluster, Reason: err}
	}
	return found, nil
}

// ended is an error when the connection has ended. One that fails still knows Nodes.
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
	// wake is called when the connection is to be checked: Nodes can be asked for, it is broken, or
	// a caller got no answer.
	wake func()
	// node is called for every change of the Node of a Machine, and hasMachine reports whether a Machine has
	// a provider ID.
	node       func(*corev1.Node)
	hasMachine func(providerID string) bool
	// lists are the slots of the server.
	lists *slots
}

// dial makes a connection of a configuration that has dialer, proxy and wrappers, probes it,
// and starts to read its Nodes. ctx bounds the connection, not only its start.
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
	c.watch(ctx, d, watcher.CoreV1().RESTClient(), closeIdle)
	return c, nil
}

// watch starts to read Nodes and makes what ends it.
func (c *Connection) watch(ctx context.Context, d dialling, client rest.Interface, closeIdle func()) {
	known := make(chan struct{})
	c.known = func() bool {
		select {
		case <-known:
			return true
		default:
			return false
		}
	}
	c.nodes = &nodes{
		cluster: d.cluster, lists: d.lists, isWanted: d.hasMachine, changed: d.node, failed: c.failed,
		broken: func(err error) { c.broken(err); d.wake() },
		synced: sync.OnceFunc(func() { close(known); d.wake() }),
		asked:  make(chan struct{}, 1), byID: map[string]*wanted{}, ids: map[string]string{},
		get: func(ctx context.Context, name string, query map[string]string) (io.ReadCloser, error) {
			r := client.Get().Resource("nodes").SetHeader("Accept", runtime.ContentTypeJSON)
			if name != "" {
				r = r.Name(name)
			}
			for key, value := range query {
				r = r.Param(key, value)
			}
			return r.Stream(ctx)
		},
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	c.end = func() {
		cancel()
		running.Wait()
		closeIdle()
	}
	running.Go(func() { c.nodes.run(ctx) })
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

// configure makes config what dial takes, for a cluster that is read with limiters.
func (o *Options) configure(config *rest.Config, limiters []*rate.Limiter) *rest.Config {
	config.Timeout = requestTimeout
	config.UserAgent = o.UserAgent
	config.ContentType = runtime.ContentTypeJSON // whose entries are counted as they are read
	config.WarningHandler = rest.NoWarnings{}
	config.Dial = dialer(&o.Networks)
	config.Proxy = direct
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return paced{bounded{next: next, bytes: maxAnswer}, limiters}
	})
	if o.Wrap != nil {
		config.Wrap(o.Wrap)
	}
	return config
}
