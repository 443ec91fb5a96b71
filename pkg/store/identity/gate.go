// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	// retry is the interval of comparisons while the store is not served, refresh while it is.
	// While it is served, the store alone is read every retry.
	retry   = 2 * time.Second
	refresh = time.Minute
	// timeout bounds each comparison.
	timeout = 5 * time.Second
	// retryAfterSeconds is short, because kubectl shows the answer after ten attempts.
	retryAfterSeconds = 1
)

// Gate lets requests for objects through if the store is the known one, and lets the controllers start
// if it also does not wait for its release. A nil Gate is always open: without a management cluster no
// store is known.
type Gate struct {
	host      kubernetes.Interface
	namespace string
	store     store
	client    *clientv3.Client
	// closed is the reason why requests are not let through, nil if they are.
	closed atomic.Pointer[error]
	// id is the ID of the store, nil before the gate was open for the first time.
	id atomic.Pointer[string]
	// held is the reason why the controllers must wait, empty if they need not.
	held atomic.Pointer[string]
	// seen is the last state that was read while the store was served, nil before; comparedAt is
	// the time of the last comparison.
	seen       atomic.Pointer[state]
	comparedAt time.Time
	// logged is the last logged error, and loggedAt its time.
	logged   string
	loggedAt time.Time
}

// NewGate returns a closed gate. It does not wait until etcd answers. The keys of the store are below
// prefix; the ConfigMap is in namespace of host. Call Compare first, then Run, and Close at the end.
func NewGate(config clientv3.Config, prefix string, host kubernetes.Interface, namespace string) (*Gate, error) {
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to etcd: %w", err)
	}
	g := newGate(&etcdStore{kv: client, prefix: prefix}, host, namespace)
	g.client = client
	return g, nil
}

func newGate(s store, host kubernetes.Interface, namespace string) *Gate {
	g := &Gate{host: host, namespace: namespace, store: s}
	g.set(errors.New("the store has not been compared with the known one yet"))
	return g
}

// Close closes the connection to etcd.
func (g *Gate) Close() {
	if g != nil {
		_ = g.client.Close() // returns only that its context is done
	}
}

func (g *Gate) set(err error) {
	if err == nil {
		g.closed.Store(nil)
		return
	}
	g.closed.Store(&err)
}

// Err returns the reason why the gate is closed, nil when it is open.
func (g *Gate) Err() error {
	if g == nil {
		return nil
	}
	if err := g.closed.Load(); err != nil {
		return *err
	}
	return nil
}

// ID returns the ID of the store. It is empty before the gate was open for the first time.
func (g *Gate) ID() string {
	if g == nil {
		return ""
	}
	if id := g.id.Load(); id != nil {
		return *id
	}
	return ""
}

// Await waits until the gate is open and the store is not held. It returns false when ctx is done before.
// While the store is held, it logs the reason once a minute.
func (g *Gate) Await(ctx context.Context) bool {
	var loggedAt time.Time
	return wait.PollUntilContextCancel(ctx, retry, true, func(ctx context.Context) (bool, error) {
		if g == nil {
			return true, nil
		}
		if g.Err() != nil {
			return false, nil
		}
		held := *g.held.Load()
		if held != "" && time.Since(loggedAt) >= refresh {
			loggedAt = time.Now()
			klog.FromContext(ctx).Info("The API is served, and nothing is done in vSphere until \"slipway-apiserver etcd release\"", "reason", held)
		}
		return held == "", nil
	}) == nil
}

// Handler answers requests for objects with 503 while the gate is closed. codecs encode the answer.
func (g *Gate) Handler(next http.Handler, codecs runtime.NegotiatedSerializer) http.Handler {
	return Refuse(next, codecs, g.Err)
}

// Refuse answers requests for objects with 503 while why returns an error.
func Refuse(next http.Handler, codecs runtime.NegotiatedSerializer, why func() error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(r.Context())
		err := why()
		if err == nil || !ok || !info.IsResourceRequest {
			next.ServeHTTP(w, r)
			return
		}
		unavailable := apierrors.NewServiceUnavailable(err.Error())
		unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
		responsewriters.ErrorNegotiated(unavailable, codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
	})
}

// Compare decides whether the store is served, opens or closes the gate, and records the state of the store
// in the management cluster. Errors other than a refusal leave the gate as it is. Comparisons must not overlap.
func (g *Gate) Compare(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.comparedAt = time.Now()
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now, held, err := g.compare(bounded)
	if ctx.Err() != nil {
		return err // the process stops: the error is not about the store
	}
	if err == nil {
		g.seen.Store(&now)
		g.id.Store(&now.id)
		g.held.Store(&held)
	}
	if err == nil || g.Err() != nil || errors.Is(err, errRefused) {
		g.set(err)
	}
	switch {
	case err == nil:
		g.logged = ""
	case err.Error() != g.logged || time.Since(g.loggedAt) >= refresh:
		g.logged, g.loggedAt = err.Error(), time.Now()
		klog.FromContext(ctx).Error(err, "Comparing the store with the known one failed",
			"configMap", klog.KRef(g.namespace, ConfigMapName), "served", g.Err() == nil)
	}
	return err
}

// read reads the store, and refuses one that is not a continuation of the store that this process has
// served: a running controller must not act on what it remembers of that.
func (g *Gate) read(ctx context.Context) (now state, held string, err error) {
	seen := g.seen.Load() // before the store is read, which is further then
	if now, held, err = g.store.read(ctx); err != nil || seen == nil {
		return now, held, err
	}
	if verdict, reason := decide(seen, "", now); verdict != serve {
		return now, "", fmt.Errorf("%w any more: it was replaced while it was served: %s", errRefused, reason)
	}
	return now, held, nil
}

// check is Compare without the management cluster. A store that cannot be read leaves the gate as it is.
func (g *Gate) check(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now, held, err := g.read(bounded)
	switch {
	case err == nil:
		g.seen.Store(&now)
		g.held.Store(&held)
	case errors.Is(err, errRefused):
		g.set(err)
	}
	return err
}

// Dial connects a client of the objects with etcd. An etcd whose data is replaced ends its connections: a
// new one is used only if the store is the one that was served. Otherwise the clients would read the other
// store until the next comparison, and report its missing objects as deleted.
func (g *Gate) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil || g == nil || g.seen.Load() == nil { // nothing was served yet
		return conn, err
	}
	if err := g.check(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("comparing the store at %s with the one that was served: %w", address, err)
	}
	return conn, nil
}

// Run compares the store again and again until ctx is done. It returns an error when a store that was served
// is not the known one any more, also if another one was accepted in the meantime: the process must not act
// on its caches.
func (g *Gate) Run(ctx context.Context) error {
	if g == nil {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(retry):
		}
		served := g.seen.Load() != nil
		if served {
			if err := g.check(ctx); errors.Is(err, errRefused) {
				return err
			}
			if time.Since(g.comparedAt) < refresh {
				continue
			}
		}
		if err := g.Compare(ctx); served && errors.Is(err, errRefused) {
			return err
		}
	}
}
