// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/client-go/rest"
)

const mib = 1 << 20

func read(ctx context.Context, p *readLimits, namespace string, bytes int) error {
	_, err := io.Copy(io.Discard, newRateLimitedBody(ctx, io.NopCloser(strings.NewReader(strings.Repeat("x", bytes))), p.limiters(namespace)))
	return err
}

func TestReadLimits_LimitNamespacesAndTheServer(t *testing.T) {
	for _, tc := range []struct {
		name       string
		namespaces []string
		// want is the time that each namespace needs to read 52 MiB.
		want time.Duration
	}{
		{"one", []string{"a"}, 20 * time.Second},
		{"clusters of one namespace", []string{"a", "a"}, 72 * time.Second},
		{"four namespaces", []string{"a", "b", "c", "d"}, 72 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, start := newReadLimits(), time.Now()
				done := make(chan error)
				for _, namespace := range tc.namespaces {
					go func() { done <- read(t.Context(), p, namespace, 52*mib) }()
				}
				for range tc.namespaces {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if took := time.Since(start).Round(time.Second); took != tc.want {
					t.Errorf("read in %s, want %s", took, tc.want)
				}
			})
		})
	}
}

func TestReadLimits_RejectReadsThatExceedTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := newReadLimits()
		if err := read(ctx, p, "a", 40*mib); err == nil || !strings.Contains(err.Error(), "at most 1048576 bytes per second are read") || errors.Is(err, errTooLarge) {
			t.Errorf("%v, want an error with the limit", err)
		}
	})
}

func TestReadLimits_LimitAllResponsesOfACluster(t *testing.T) {
	s := newHostileServer(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "0123456789") })
	config, err := parseKubeconfig(s.kubeconfig(s.URL))
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Networks: onLoopback}
	for _, limiters := range [][]*rate.Limiter{{rate.NewLimiter(1, 100), rate.NewLimiter(1, 9)}, {rate.NewLimiter(1, 9), rate.NewLimiter(1, 100)}} {
		client, err := rest.HTTPClientFor(o.configure(rest.CopyConfig(config), limiters))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Get(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(resp.Body); err == nil {
			t.Errorf("%q was read, want at most 9 bytes", got)
		}
		_ = resp.Body.Close()
	}
}
