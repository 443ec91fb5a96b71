// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"errors"
	"fmt"
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
	// served, refresh while it is. In between the store is looked at as often.
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
	// id is that of the store that was compared at last, nil before.
	id atomic.Pointer[string]
	// seen is the store as it was read last while it was served, nil before; comparedAt is
	// when the host cluster was asked last.
	seen       *store
	comparedAt time.Time
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

// ID tells the store from all others. It is empty before the gate was open for the first time.
func (g *Gate) ID() string {
	if g == nil {
		return ""
	}
	if id := g.id.Load(); id != nil {
		return *id
	}
	return ""
}

// Await waits until the gate is open. It returns false when ctx is done before.
func (g *Gate) Await(ctx context.Context) bool {
	return wait.PollUntilContextCancel(ctx, retry, true, func(context.Context) (bool, error) { return g.Err() == nil, nil }) == nil
}

// Handler answers requests for objects with 503 while the gate is closed. codecs encode
// the answer.
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

// Compare opens the gate if the store is the known one, and lets the host cluster know how
// far it has come. It closes the gate when the store is another or an older one; other
// errors leave it as it is. Comparisons must not overlap.
func (g *Gate) Compare(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.comparedAt = time.Now()
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now, err := compare(bounded, g.host, g.namespace, g.seen, g.read)
	if ctx.Err() != nil {
		return err // told to stop, which says nothing of the store
	}
	if err == nil {
		g.seen = &now
		g.id.Store(&now.id)
	}
	if err == nil || g.Err() != nil || errors.Is(err, errRefused) {
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

// look closes the gate and returns an error when the store is another or an older one than
// this process has served. What cannot be read is not.
func (g *Gate) look(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	now, err := g.read(bounded)
	if err != nil {
		return nil
	}
	if refusal := judge(g.seen, "", now); refusal != "" {
		err := fmt.Errorf("%w any more: while it was, it was replaced: %s", errRefused, refusal)
		g.set(err)
		return err
	}
	g.seen = &now
	return nil
}

// Run compares again and again until ctx is done. It returns an error when a store that
// was served is not the known one any more, also if that was accepted in the meantime:
// what the process knows must not be acted on.
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
		served := g.Err() == nil
		if served {
			if err := g.look(ctx); err != nil {
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
