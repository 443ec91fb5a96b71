// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"context"
	"errors"
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
	// retry is how long after a comparison the next one is made while the store is not
	// served, refresh while it is.
	retry   = 2 * time.Second
	refresh = time.Minute
	// timeout bounds each comparison.
	timeout = 5 * time.Second
	// retryAfterSeconds is short, as kubectl shows the answer after ten attempts.
	retryAfterSeconds = 1
)

// Gate lets requests for objects through once the store is known. A nil one lets all
// through: without a host cluster there is nobody to know it.
type Gate struct {
	host      kubernetes.Interface
	namespace string
	read      func(context.Context) (store, error)
	// closed says why nothing is let through, nil if it is.
	closed atomic.Pointer[error]
	// said is what the log said at last, and when.
	said   string
	saidAt time.Time
}

// NewGate returns a gate that is closed. Objects of etcd are below prefix; the ConfigMap
// is in namespace of host.
func NewGate(etcd clientv3.Config, prefix string, host kubernetes.Interface, namespace string) *Gate {
	g := &Gate{host: host, namespace: namespace, read: connected(etcd, prefix)}
	g.set(errors.New("the store has not been compared with the one that the host cluster knows yet"))
	return g
}

func (g *Gate) set(err error) {
	if err == nil {
		g.closed.Store(nil)
		return
	}
	g.closed.Store(&err)
}

// Err says why the gate is closed, nil when it is open.
func (g *Gate) Err() error {
	if g == nil {
		return nil
	}
	if why := g.closed.Load(); why != nil {
		return *why
	}
	return nil
}

// Await waits until the gate is open. It returns false when ctx is done before.
func (g *Gate) Await(ctx context.Context) bool {
	return wait.PollUntilContextCancel(ctx, retry, true, func(context.Context) (bool, error) { return g.Err() == nil, nil }) == nil
}

// Handler answers requests for objects with 503 while the gate is closed. codecs encode
// the answer.
func (g *Gate) Handler(next http.Handler, codecs runtime.NegotiatedSerializer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, ok := genericapirequest.RequestInfoFrom(r.Context())
		err := g.Err()
		if err == nil || !ok || !info.IsResourceRequest {
			next.ServeHTTP(w, r)
			return
		}
		unavailable := apierrors.NewServiceUnavailable(err.Error())
		unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
		responsewriters.ErrorNegotiated(unavailable, codecs, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
	})
}

// Compare opens the gate if the store is the known one, and lets the host cluster know how
// far it has come. An error does not close it again. Comparisons must not overlap.
func (g *Gate) Compare(ctx context.Context) error {
	if g == nil {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := compare(bounded, g.host, g.namespace, g.read)
	if ctx.Err() != nil {
		return err // told to stop, which says nothing of the store
	}
	if err == nil || g.Err() != nil {
		g.set(err)
	}
	switch {
	case err == nil:
		g.said = ""
	case err.Error() != g.said || time.Since(g.saidAt) >= refresh:
		g.said, g.saidAt = err.Error(), time.Now()
		klog.FromContext(ctx).Error(err, "Comparing the store with the one that the host cluster knows",
			"configMap", klog.KRef(g.namespace, ConfigMapName), "served", g.Err() == nil)
	}
	return err
}

// Run compares again and again until ctx is done. It returns an error when a store that
// was served is not the known one any more: what the process knows must not be acted on.
func (g *Gate) Run(ctx context.Context) error {
	if g == nil {
		return nil
	}
	for {
		served, pause := g.Err() == nil, retry
		if served {
			pause = refresh
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if err := g.Compare(ctx); served && errors.Is(err, errRefused) {
			return err
		}
	}
}
