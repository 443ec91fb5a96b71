// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

const (
	// storeTimeout is the time without an answer from etcd after which requests for objects are rejected.
	storeTimeout = 3 * time.Second
	// probeInterval is the pause between two probes of etcd.
	probeInterval = time.Second
)

// StoreHealth records whether etcd answers.
type StoreHealth struct {
	mu sync.Mutex
	// silent is true if etcd has not answered for storeTimeout.
	silent bool
	// requests has the cancel function of each request in progress.
	requests map[*http.Request]context.CancelFunc
}

// NewStoreHealth returns a StoreHealth that initially assumes that etcd answers.
func NewStoreHealth() *StoreHealth {
	return &StoreHealth{requests: map[*http.Request]context.CancelFunc{}}
}

// Run probes etcd until ctx is done.
func (h *StoreHealth) Run(ctx context.Context, probe func(context.Context) error) {
	timer := time.AfterFunc(storeTimeout, func() { h.set(true) })
	defer timer.Stop()
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		if probe(ctx) == nil {
			timer.Reset(storeTimeout)
			h.set(false)
		}
	}, probeInterval)
}

// set records whether etcd is silent, and cancels the requests in progress if it is.
func (h *StoreHealth) set(silent bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.silent = silent
	if silent {
		for _, cancel := range h.requests {
			cancel()
		}
	}
}

// begin returns the context of a request, which ends when etcd becomes silent.
func (h *StoreHealth) begin(r *http.Request) (ctx context.Context, end func(), silent bool) {
	ctx, cancel := context.WithCancel(r.Context())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests[r] = cancel
	return ctx, func() {
		cancel()
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.requests, r)
	}, h.silent
}

// Handler returns a handler that passes requests to next. While etcd is silent, it answers requests for objects with
// status 503 and cancels those in progress, which ends watches. During that time and during a shutdown each answer
// closes its connection, so that clients connect to another replica.
func (h *StoreHealth) Handler(next http.Handler, c *genericapiserver.Config) http.Handler {
	shutdown := c.ShutdownInitiatedNotify()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, end, silent := h.begin(r)
		defer end()
		closing := silent
		select {
		case <-shutdown:
			closing = true
		default:
		}
		if closing {
			w.Header().Set("Connection", "close") // net/http sends GOAWAY on HTTP/2
		}
		info, err := c.RequestInfoResolver.NewRequestInfo(r)
		switch {
		case err != nil || !info.IsResourceRequest:
			next.ServeHTTP(w, r)
		case silent:
			unavailable := apierrors.NewServiceUnavailable(fmt.Sprintf("etcd has not answered for %s", storeTimeout))
			unavailable.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
			responsewriters.ErrorNegotiated(unavailable, c.Serializer, schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, w, r)
		default:
			next.ServeHTTP(w, r.WithContext(ctx))
		}
	})
}
