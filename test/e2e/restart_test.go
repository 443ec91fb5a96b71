// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// orderVCenter gives an order to the simulated vCenter, also when the test has ended.
func orderVCenter(t *testing.T, method, path string) {
	t.Helper()
	if _, err := vsphereclient.Order(context.Background(), cluster.VCenter().ControlURL, method, path); err != nil {
		t.Fatal(err)
	}
}

// lease is who holds the Lease of the controllers, since when, and how often it changed hands.
func (u user) lease() string {
	u.t.Helper()
	return u.kubectl("get", "lease", "slipway-controllers", "--namespace=slipway-system",
		"-o", "jsonpath={.spec.holderIdentity} {.spec.acquireTime} {.spec.leaseTransitions}")
}

// A server that was killed gives no Lease back, and its successor has to read the
// inventory of vSphere, which this test does not let it: a new VM waits for neither.
func TestNewVMWaitsNeitherForTheLeaseNorForTheInventory(t *testing.T) {
	u := admin(t)
	u.apply(catalogue + vmManifest("old"))
	u.kubectl("wait", "--for=condition=Ready", "vm", "old", "--timeout=90s")
	before := u.lease()

	const stream = "/hold?method=WaitForUpdatesEx"
	orderVCenter(t, http.MethodPut, stream)
	t.Cleanup(func() { orderVCenter(t, http.MethodDelete, stream) })
	if err := cluster.KillSlipway(); err != nil {
		t.Fatal(err)
	}
	restarted := make(chan error, 1)
	go func() { restarted <- cluster.RestartSlipway(t.Context()) }()
	eventually(t, long, "the API is served again", func() error {
		_, errOut, err := u.try("", "kubectl", "get", "vm", "old")
		if err != nil {
			return errorf("%w: %s", err, errOut)
		}
		return nil
	})
	// Objects say in which second they were made: only from the next on is it certain
	// that the one before has not seen them.
	served := time.Now()
	eventually(t, short, "the next second", func() error {
		if !time.Now().Truncate(time.Second).After(served) {
			return errorf("it is %s", time.Now())
		}
		return nil
	})
	u.apply(vmManifest("new"))
	// The stream is held, so that nothing of the inventory was read by now.
	u.kubectl("wait", "--for=condition=Ready", "vm", "new", "--timeout=90s")
	if after := u.lease(); after != before {
		t.Errorf("the Lease was taken anew: %s, before %s", after, before)
	}

	orderVCenter(t, http.MethodDelete, stream)
	if err := <-restarted; err != nil {
		t.Fatal(err)
	}
	u.kubectl("wait", "--for=condition=Ready", "vm", "--all", "--timeout=90s")
	if vms := inventory(t, u.namespace); len(vms) != 2 {
		t.Errorf("the vCenter has %d VMs, want 2", len(vms))
	}
}

// A starting server reads from the host cluster by which authorities users are told. Who
// asks before, through kube-apiserver or directly, must be told to come again, and not
// be refused: clients give up then.
func TestF1NobodyIsRefusedWhileTheServerStarts(t *testing.T) {
	const list = "/apis/vm.slipway.dev/v1alpha1/namespaces/default/virtualmachines"
	direct, err := cluster.DirectConfig("slipway-admin", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	refused := make(chan string, 1)
	var users sync.WaitGroup
	ask := func(config *rest.Config, path string, mayAnswer ...int) {
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			t.Fatal(err)
		}
		users.Go(func() {
			for ctx.Err() == nil {
				if got := answer(ctx, client, config.Host+path); got.code != 0 && !slices.Contains(mayAnswer, got.code) || got.code == http.StatusServiceUnavailable && config == direct && !got.again {
					select {
					case refused <- fmt.Sprintf("GET %s%s: %d, Retry-After %t: %s", config.Host, path, got.code, got.again, got.text):
					default:
					}
				}
			}
		})
	}
	for range 4 {
		ask(cluster.RestConfig(), list, http.StatusOK, http.StatusServiceUnavailable)
		ask(direct, list, http.StatusOK, http.StatusServiceUnavailable)
	}
	// Readiness names what fails with 500; it must not refuse either.
	ask(direct, "/readyz/identities", http.StatusOK, http.StatusServiceUnavailable, http.StatusInternalServerError)
	for range 5 {
		if err := cluster.KillSlipway(); err != nil {
			t.Fatal(err)
		}
		if err := cluster.RestartSlipway(ctx); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	users.Wait()
	select {
	case what := <-refused:
		t.Errorf("an administrator was answered: %s", what)
	default:
	}
}

// answered is an answer; its code is 0 when there was none.
type answered struct {
	code  int
	again bool
	text  string
}

func answer(ctx context.Context, client *http.Client, url string) answered {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answered{text: err.Error()}
	}
	resp, err := client.Do(req)
	if err != nil {
		return answered{text: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	return answered{code: resp.StatusCode, again: resp.Header.Get("Retry-After") != "", text: string(text)}
}
