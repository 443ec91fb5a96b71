// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/testenv"
)

// lease is the holder of the controllers' Lease, the time of acquisition, and the number of transitions.
func (u user) lease() string {
	u.T.Helper()
	return u.Kubectl("get", "lease", "slipway-controllers", "--namespace=slipway-system",
		"-o", "jsonpath={.spec.holderIdentity} {.spec.acquireTime} {.spec.leaseTransitions}")
}

// A killed server does not release its Lease. The next process continues with that Lease, and creates a new VM after it
// has read the inventory, which this test delays.
func TestRestart_NewVMWaitsForTheInventoryAndNotForTheLease(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.Catalogue + testenv.VM("old"))
	u.Kubectl("wait", "--for=condition=Ready", "vm", "old", "--timeout=90s")
	before := u.lease()

	const stream = "/hold?method=WaitForUpdatesEx"
	testenv.Order(t, http.MethodPut, stream)
	t.Cleanup(func() { testenv.Order(t, http.MethodDelete, stream) })
	if err := testenv.Of(t).KillSlipway(); err != nil {
		t.Fatal(err)
	}
	restarted := make(chan error, 1)
	go func() { restarted <- testenv.Of(t).RestartSlipway(t.Context()) }()
	testenv.Eventually(t, testenv.Long, "the API is served again", func() error {
		_, errOut, err := u.Try("", "kubectl", "get", "vm", "old")
		if err != nil {
			return fmt.Errorf("%w: %s", err, errOut)
		}
		return nil
	})
	u.Apply(testenv.VM("new"))
	const created = `{.status.conditions[?(@.type=="Created")].status} {.status.conditions[?(@.type=="Created")].message}`
	testenv.Eventually(t, testenv.Long, "the new VM reports its missing prerequisites", func() error {
		if got := u.Kubectl("get", "vm", "new", "-o", "jsonpath="+created); got != "Unknown the inventory of vCenter is being read" {
			return fmt.Errorf("its condition Created is %q", got)
		}
		return nil
	})
	if vms := testenv.Inventory(t, u.Namespace); len(vms) != 1 {
		t.Errorf("the vCenter has %d VMs before the inventory is read, want 1", len(vms))
	}
	if after := u.lease(); after != before {
		t.Errorf("the Lease was acquired again: %s, before %s", after, before)
	}

	testenv.Order(t, http.MethodDelete, stream)
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	u.Kubectl("wait", "--for=condition=Ready", "vm", "--all", "--timeout=90s")
	if vms := testenv.Inventory(t, u.Namespace); len(vms) != 2 {
		t.Errorf("the vCenter has %d VMs, want 2", len(vms))
	}
}

// A starting server reads the certificate authorities of users from the management cluster and fills its caches. A
// stopping server completes its requests. Meanwhile clients must get responses with Retry-After, through kube-apiserver
// or directly, and no 401 or 403, because clients do not retry those. The log has the duration of the outage.
func TestRestart_RejectsNoRequests(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.VM("asked"))
	vms := "/apis/vm.slipway.dev/v1alpha1/namespaces/" + u.Namespace + "/virtualmachines"
	direct, err := testenv.Of(t).DirectConfig("slipway-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan string, 1)
	var users sync.WaitGroup
	ask := func(config *rest.Config, method, path string, mayAnswer ...int) *service {
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		served := &service{last: time.Now()}
		users.Go(func() {
			for ctx.Err() == nil {
				got := answerTo(ctx, client, method, config.Host+path)
				// The library refuses new requests with 429 after the shutdown delay.
				stopping := got.code == http.StatusTooManyRequests && got.again
				if got.code != 0 && !stopping && !slices.Contains(mayAnswer, got.code) || got.code == http.StatusServiceUnavailable && config == direct && !got.again {
					select {
					case refused <- fmt.Sprintf("%s %s%s: %d, Retry-After %t: %s", method, config.Host, path, got.code, got.again, got.text):
					default:
					}
				}
				served.note(got.code == http.StatusOK)
			}
		})
		return served
	}
	reads := ask(testenv.Of(t).RestConfig(), http.MethodGet, vms, http.StatusOK, http.StatusServiceUnavailable)
	writes := ask(testenv.Of(t).RestConfig(), http.MethodPatch, vms+"/asked", http.StatusOK, http.StatusServiceUnavailable)
	for range 2 {
		ask(testenv.Of(t).RestConfig(), http.MethodGet, vms, http.StatusOK, http.StatusServiceUnavailable)
		ask(direct, http.MethodGet, vms, http.StatusOK, http.StatusServiceUnavailable)
	}
	ask(direct, http.MethodPatch, vms+"/asked", http.StatusOK, http.StatusServiceUnavailable)
	// Readiness returns 500 with the failing checks. It must not return 401 or 403 either.
	ask(direct, http.MethodGet, "/readyz/identities", http.StatusOK, http.StatusServiceUnavailable, http.StatusInternalServerError)
	for i := range 4 {
		how := "stopped"
		if i%2 == 0 {
			how = "killed"
			if err := testenv.Of(t).KillSlipway(); err != nil {
				t.Fatal(err)
			}
		}
		if err := testenv.Of(t).RestartSlipway(ctx); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s and started: no reads for %s, no writes for %s", how, reads.longest(t), writes.longest(t))
	}
	cancel()
	users.Wait()
	select {
	case what := <-refused:
		t.Errorf("an administrator was answered: %s", what)
	default:
	}
}

// service measures the duration of an outage.
type service struct {
	mu   sync.Mutex
	last time.Time
	span time.Duration
}

func (s *service) note(served bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); served {
		s.span, s.last = max(s.span, now.Sub(s.last)), now
	}
}

// longest waits until a request succeeds, and returns the longest time between a request and the previous one.
func (s *service) longest(t *testing.T) time.Duration {
	t.Helper()
	asked := time.Now()
	var span time.Duration
	testenv.Eventually(t, testenv.Short, "a request succeeds", func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.last.Before(asked) {
			return fmt.Errorf("not since %s", s.last)
		}
		span, s.span = s.span, 0
		return nil
	})
	return span.Round(time.Millisecond)
}

// answered is a response. Its code is 0 if there was none.
type answered struct {
	code  int
	again bool
	text  string
}

func answer(ctx context.Context, client *http.Client, url string) answered {
	return answerTo(ctx, client, http.MethodGet, url)
}

// answerTo sends a request. A patch sets an annotation.
func answerTo(ctx context.Context, client *http.Client, method, url string) answered {
	var body io.Reader
	if method == http.MethodPatch {
		body = strings.NewReader(fmt.Sprintf(`{"metadata":{"annotations":{"asked":%q}}}`, time.Now()))
	}
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return answered{text: err.Error()}
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	resp, err := client.Do(req)
	if err != nil {
		return answered{text: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	return answered{code: resp.StatusCode, again: resp.Header.Get("Retry-After") != "", text: string(text)}
}
