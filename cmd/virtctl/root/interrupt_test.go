// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/slipway-dev/slipway/cmd/virtctl/root"
)

func TestInterrupt_EndsRequestsWhenTheServerDoesNotAnswer(t *testing.T) {
	silent, let := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-silent.Done() }))
	t.Cleanup(server.Close)
	t.Cleanup(let)
	t.Setenv("KUBECONFIG", "/dev/null")
	for _, command := range []string{"check", "version"} {
		ctx, interrupt := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer interrupt()
		ended := make(chan int, 1)
		go func() {
			ended <- root.Main(ctx, []string{"virtctl", "--server", server.URL, command}, genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard})
		}()
		select {
		case code := <-ended:
			if code == 0 {
				t.Errorf("virtctl %s exits with status 0", command)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("virtctl %s does not end", command)
		}
	}
}

func TestInterrupt_EndsAnUninstallWhenTheServerDoesNotAnswerDiscovery(t *testing.T) {
	silent, let := context.WithCancel(context.Background())
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/apiservices/") { // served by the management cluster itself
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": "any"}}`)
			return
		}
		select {
		case asked <- struct{}{}:
		default:
		}
		<-silent.Done()
	}))
	t.Cleanup(server.Close)
	t.Cleanup(let)
	t.Setenv("KUBECONFIG", "/dev/null")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan int, 1)
	go func() {
		ended <- root.Main(ctx, []string{"virtctl", "--server", server.URL, "uninstall"}, genericclioptions.NewConfigFlags(true), genericiooptions.IOStreams{Out: io.Discard, ErrOut: io.Discard})
	}()
	select {
	case <-asked:
	case code := <-ended:
		t.Fatalf("it ends with %d and has not asked for kinds", code)
	}
	interrupt()
	select {
	case code := <-ended:
		if code == 0 {
			t.Error("it exits with status 0")
		}
	case <-time.After(10 * time.Second):
		t.Error("it does not end")
	}
}
