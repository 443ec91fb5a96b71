// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/integration/framework"
)

// crowd writes and reads until the server takes no more connections, and returns the
// names of the VMs whose creation was acknowledged, and every other failure.
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
				if !errors.Is(err, syscall.ECONNREFUSED) {
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

// withoutRetries keeps a client from sending again what was refused: the aggregator does not.
func withoutRetries(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			resp.Header.Del("Retry-After")
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestShutdownAnswersEveryRequestAndKeepsEveryWrite(t *testing.T) {
	dir := t.TempDir()
	s, stop := framework.StartStandaloneUntil(t, dir)
	created, failures := crowd(t, s, 8, stop)
	for _, err := range failures {
		t.Errorf("a request that the server had taken failed: %v", err)
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
