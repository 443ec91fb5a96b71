// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/vmware/govmomi"

	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// testTimeout is the time limit of one test. On an idle machine each test takes less than a tenth of it.
const testTimeout = simulated.Patience

func TestMain(m *testing.M) { simulated.Main(m) }

// startVCenter starts a simulated vCenter that stops at the end of the test.
func startVCenter(t *testing.T, changes ...func(*vcenter.Options)) vcenter.Ready {
	return simulated.Start(t, changes...)
}

// withVersion sets the API version of the simulated vCenter.
func withVersion(v string) func(*vcenter.Options) {
	return func(o *vcenter.Options) { o.APIVersion = v }
}

// eventually waits for a condition whose change sends no event.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	simulated.Eventually(t, what, cond)
}

func credentials(context.Context) (string, string, error) {
	return vcenter.DefaultUsername, vcenter.DefaultPassword, nil
}

// calls counts the calls to vCenter by method.
type calls struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *calls) count(method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[method]++
}

// snapshot returns the number of calls by method. It omits waits for changes, which are not part of a reconcile.
func (c *calls) snapshot() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := maps.Clone(c.n)
	delete(out, "WaitForUpdatesEx")
	return out
}

// admin returns an administrator's client, with which a test reads and changes vCenter.
func admin(t *testing.T, ready vcenter.Ready) *govmomi.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	c, err := vsphereclient.Login(ctx, ready.URL, ready.CAFile, vcenter.DefaultUsername, vcenter.DefaultPassword)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
