// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/slipway-dev/slipway/pkg/apis/scheme"
)

func TestStoreHealth_RejectsRequestsWhileEtcdIsSilent(t *testing.T) {
	t.Parallel()
	config := genericapiserver.NewConfig(scheme.Codecs)
	config.RequestInfoResolver = genericapiserver.NewRequestInfoResolver(config)
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var hangs atomic.Bool
		h := NewStoreHealth()
		go h.Run(ctx, func(ctx context.Context) error {
			if hangs.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		})
		served := h.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("watch") {
				<-r.Context().Done()
			}
		}), config)
		want := func(step, url string, code int, retryAfter, connection string) {
			t.Helper()
			w := httptest.NewRecorder()
			served.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, url, nil))
			if w.Code != code || w.Header().Get("Retry-After") != retryAfter || w.Header().Get("Connection") != connection {
				t.Errorf("%s: GET %s returned %d with %v, want %d with Retry-After %q and Connection %q", step, url, w.Code, w.Header(), code, retryAfter, connection)
			}
		}
		const objects, discovery = "/apis/vm.slipway.dev/v1alpha1/namespaces/default/virtualmachines", "/apis/vm.slipway.dev/v1alpha1"

		synctest.Wait()
		want("etcd answers", objects, http.StatusOK, "", "")
		hangs.Store(true)
		began := time.Now()
		want("the watch ends", objects+"?watch=true", http.StatusOK, "", "")
		if d := time.Since(began); d != storeTimeout {
			t.Errorf("a watch ended after %s without an answer from etcd, want %s", d, storeTimeout)
		}
		want("etcd is silent", objects, http.StatusServiceUnavailable, "1", "close")
		want("etcd is silent", objects+"?watch=true", http.StatusServiceUnavailable, "1", "close")
		want("etcd is silent", discovery, http.StatusOK, "", "close")

		hangs.Store(false)
		time.Sleep(storeTimeout + probeInterval)
		synctest.Wait()
		want("etcd answers again", objects, http.StatusOK, "", "")
	})
}

func TestStoreHealth_ServesWhileSingleProbesFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		h, probes := NewStoreHealth(), 0
		go h.Run(ctx, func(context.Context) error {
			if probes++; probes%2 != 0 {
				return errors.New("no leader")
			}
			return nil
		})
		ended := false
		go func() {
			began, end, _ := h.begin(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
			defer end()
			<-began.Done()
			ended = true
		}()
		time.Sleep(time.Minute)
		if ended || probes < 60 {
			t.Errorf("after %d probes, every other of which succeeded, a request in progress was canceled: %t", probes, ended)
		}
	})
}
