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

// Client-side rate limits, the same as in Cluster API.
const (
	qps, burst = 20, 30
	// requestTimeout is the timeout of requests of callers and of reading the kubeconfig.
	requestTimeout = 10 * time.Second
	// streamTimeout is the timeout of a watch, which is requested for 10 minutes.
	streamTimeout = 11 * time.Minute
	// probeTimeout is the timeout of a probe.
	probeTimeout = 5 * time.Second
)

// Connection is a connection to a workload cluster. Callers use it within one reconcile and get it from Clusters again
// in the next. After it has ended its requests fail with ErrNotConnected. The Nodes that it returns are shared and must
// not be changed.
type Connection struct {
	cluster types.NamespacedName
	client  kubernetes.Interface
	nodes   *nodeCache

	// rejection is the error with which requests of callers fail immediately. It is nil while the cluster answers.
	rejection atomic.Pointer[NotConnectedError]
	// probe probes the cluster. isSynced reports whether the Nodes have been read. stop stops the connection and waits
	// until all its goroutines have returned.
	probe    func(context.Context) error
	isSynced func() bool
	stop     func()
	// startedAt is when the connection was opened.
	startedAt time.Time
	// visits contains one element per active visit.
	visits chan struct{}

	mu sync.Mutex
	// fatalErr is an error that closes the connection. watchErr is the last error of the watch.
	fatalErr, watchErr error
}

// Client returns the client for callers' requests. It is limited to 20 requests a second of up to 10 seconds each.
// Lists are not cached. A caller that sends more than one request must use a Visit, and must hold a list slot while it
// reads lists.
func (c *Connection) Client() kubernetes.Interface { return c.client }

// ListSlot reserves a list slot. There are four slots in total and one per namespace; done releases the slot. If no
// slot is free, it returns an error that wraps ErrBusy.
func (c *Connection) ListSlot() (done func(), err error) {
	if done = c.nodes.listSlots.tryReserve(c.cluster.Namespace); done == nil {
		return nil, fmt.Errorf("listing objects in workload cluster %s: %w", c.cluster, ErrBusy)
	}
	return done, nil
}

// Nodes returns the Nodes that have the provider ID of a Machine. There is more than one if several Nodes have the same
// provider ID by mistake. name is the name of the Machine's Node if it is known. If it is empty, all Nodes with the
// provider ID are returned. Until they have been read, the error wraps ErrNotConnected and ErrReading; the OnNode
// callbacks are called afterwards.
func (c *Connection) Nodes(providerID, name string) ([]*Node, error) {
	if err := c.endedError(); err != nil || providerID == "" {
		return nil, err
	}
	found, err := c.nodes.lookup(providerID, name)
	if err != nil {
		return nil, &NotConnectedError{Cluster: c.cluster, Reason: err}
	}
	return found, nil
}

// endedError returns an error if the connection has ended. A connection whose probes fail still returns Nodes.
func (c *Connection) endedError() error {
	if why := c.rejection.Load(); why != nil && why.ended {
		return why
	}
	return nil
}

// setFatal stores an error that retries cannot resolve.
func (c *Connection) setFatal(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fatalErr == nil {
		c.fatalErr = err
	}
}

// setWatchError stores the last error of the watch.
func (c *Connection) setWatchError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watchErr = err
}

// lastErrors returns the errors that were stored by setFatal and setWatchError.
func (c *Connection) lastErrors() (fatal, watching error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fatalErr, c.watchErr
}

// dialOptions contains the parameters of dial.
type dialOptions struct {
	cluster types.NamespacedName
	config  *rest.Config
	// wake is called when the connection must be checked: its Nodes have been read, it has failed, or a caller's
	// request failed.
	wake func()
	// onNode is called for each change of the Node of a Machine. hasMachine reports whether a Machine has a provider
	// ID.
	onNode     func(*corev1.Node)
	hasMachine func(providerID string) bool
	// listSlots are the list slots of all clusters.
	listSlots *listSlots
}

// dial opens a connection with a configuration that already contains dialer, proxy and wrappers. It probes the cluster
// and starts to read its Nodes. ctx is the context of the whole connection.
func dial(ctx context.Context, d dialOptions) (*Connection, error) {
	c := &Connection{cluster: d.cluster, startedAt: time.Now(), visits: make(chan struct{}, maxVisits)}
	transport, err := rest.TransportFor(d.config)
	if err != nil {
		return nil, fmt.Errorf("creating a client from the kubeconfig: %w", err)
	}
	// The client's own CloseIdleConnections does not unwrap the transport.
	closeIdle := func() { utilnet.CloseIdleConnectionsFor(transport) }
	own := &http.Client{Transport: transport, Timeout: streamTimeout, CheckRedirect: noRedirect}
	callers := &http.Client{Transport: callerTransport{next: transport, rejection: &c.rejection, onFailure: d.wake}, Timeout: requestTimeout, CheckRedirect: noRedirect}
	limited := rest.CopyConfig(d.config)
	limited.QPS, limited.Burst = qps, burst
	client, err := kubernetes.NewForConfigAndClient(limited, callers)
	if err != nil {
		return nil, fmt.Errorf("creating a client from the kubeconfig: %w", err)
	}
	free := rest.CopyConfig(d.config)
	free.QPS = -1
	watcher, err := kubernetes.NewForConfigAndClient(free, own)
	if err != nil {
		return nil, fmt.Errorf("creating a client from the kubeconfig: %w", err)
	}
	c.client = client
	c.probe = func(ctx context.Context) error { return probe(ctx, watcher.Discovery().RESTClient()) }
	if err := c.probe(ctx); err != nil {
		closeIdle()
		return nil, err
	}
	c.watch(ctx, d, watcher.CoreV1().RESTClient(), closeIdle)
	return c, nil
}

// watch starts to read Nodes and sets the function that stops it.
func (c *Connection) watch(ctx context.Context, d dialOptions, client rest.Interface, closeIdle func()) {
	known := make(chan struct{})
	c.isSynced = func() bool {
		select {
		case <-known:
			return true
		default:
			return false
		}
	}
	c.nodes = &nodeCache{
		cluster: d.cluster, listSlots: d.listSlots, hasMachine: d.hasMachine, onChange: d.onNode, onError: c.setWatchError,
		onFatal:      func(err error) { c.setFatal(err); d.wake() },
		onSynced:     sync.OnceFunc(func() { close(known); d.wake() }),
		readRequests: make(chan struct{}, 1), byID: map[string]*nodeEntry{}, idByName: map[string]string{},
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
	c.stop = func() {
		cancel()
		running.Wait()
		closeIdle()
	}
	running.Go(func() { c.nodes.run(ctx) })
}

// errUnauthorized closes the connection, because only another kubeconfig can resolve it.
var errUnauthorized = errors.New("the cluster rejects the credentials of the kubeconfig (401)")

// probe sends a request to the server. A 403 response counts as success. For other error responses only the status code
// is shown.
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
		return fmt.Errorf("GET / returned status %d", status.Status().Code)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("GET / was not answered within %s", probeTimeout)
	}
	return shortError{err}
}

// configure completes config for dial. limiters are the rate limiters of the cluster.
func (o *Options) configure(config *rest.Config, limiters []*rate.Limiter) *rest.Config {
	config.Timeout = requestTimeout
	config.UserAgent = o.UserAgent
	config.ContentType = runtime.ContentTypeJSON // decodeLimitedBody counts the entries of JSON
	config.WarningHandler = rest.NoWarnings{}
	config.Dial = dialer(&o.Networks)
	config.Proxy = noProxy
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return rateLimitedTransport{limitedTransport{next: next, maxBytes: maxResponse}, limiters}
	})
	if o.Wrap != nil {
		config.Wrap(o.Wrap)
	}
	return config
}
