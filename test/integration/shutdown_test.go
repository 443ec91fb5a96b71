// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/cmd/slipway-apiserver/app"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// crowd sends reads and writes until the server accepts no more connections. It returns the names of the VMs whose
// creation was acknowledged, and every other failure.
func crowd(t *testing.T, s *framework.Server, workers int, warm func()) (created sets.Set[string], failures []error) {
	t.Helper()
	created = sets.New[string]()
	var mu sync.Mutex
	var ready, all sync.WaitGroup
	ready.Add(workers)
	for worker := range workers {
		config := s.Config()
		config.Wrap(withoutRetries)
		client, err := versioned.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		vms := client.VmV1alpha1().VirtualMachines(namespace)
		all.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("vm-%d-%d", worker, i)
				_, err := vms.Create(t.Context(), inlineVM(name), metav1.CreateOptions{})
				if err == nil {
					mu.Lock()
					created.Insert(name)
					mu.Unlock()
					_, err = vms.List(t.Context(), metav1.ListOptions{Limit: 10})
				}
				if i == 0 {
					ready.Done()
				}
				if err == nil {
					continue
				}
				if !closed(err) && !errors.Is(err, errRetryLater) {
					mu.Lock()
					failures = append(failures, err)
					mu.Unlock()
				}
				return
			}
		})
	}
	ready.Wait()
	warm()
	all.Wait()
	return created, failures
}

// errRetryLater is the error of a response with Retry-After.
var errRetryLater = errors.New("the answer has Retry-After")

// withoutRetries disables the client's retries, because the aggregator does not retry either.
func withoutRetries(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil && resp.Header.Get("Retry-After") != "" {
			_ = resp.Body.Close()
			return nil, errRetryLater
		}
		return resp, err
	})
}

// closed reports whether a request failed because the server closed its connection.
func closed(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || utilnet.IsConnectionReset(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || strings.Contains(err.Error(), "server sent GOAWAY")
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestShutdown_KeepsEveryAcknowledgedWrite(t *testing.T) {
	dir := t.TempDir()
	s, stop := framework.StartStandaloneUntil(t, dir)
	created, failures := crowd(t, s, 8, stop)
	for _, err := range failures {
		t.Errorf("a request failed that was got no Retry-After and did not lose its connection: %v", err)
	}
	list, err := framework.StartStandaloneIn(t, dir).Client(t).VmV1alpha1().VirtualMachines(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept := sets.New[string]()
	for i := range list.Items {
		kept.Insert(list.Items[i].Name)
	}
	if lost := created.Difference(kept); created.Len() < 8 || lost.Len() > 0 {
		t.Errorf("%d VMs were created and acknowledged, %d of them are lost: %v", created.Len(), lost.Len(), sets.List(lost))
	}
}

func TestShutdown_ServesWhileConnectionsCloseDuringItsDelay(t *testing.T) {
	t.Parallel()
	s, stop := framework.StartStandaloneUntil(t, t.TempDir(), func(o *app.Options) { o.ShutdownDelay = 5 * time.Second })
	config := s.Config()
	config.NextProtos = []string{"http/1.1"}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	for {
		a, err := fetch(t.Context(), client, config.Host+"/readyz")
		if err != nil {
			t.Fatal(err)
		}
		if a.code == http.StatusInternalServerError {
			break
		}
	}
	a, err := fetch(t.Context(), client, config.Host+"/apis/vm.slipway.dev/v1alpha1/virtualmachines")
	if err != nil || a.code != http.StatusOK || !a.closes {
		t.Errorf("during the delay a request is answered %+v, %v; want 200 with Connection: close", a, err)
	}
	<-stopped
	if _, err := fetch(t.Context(), client, config.Host+"/readyz"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after the shutdown a request fails with %v, want a refused connection", err)
	}
}
