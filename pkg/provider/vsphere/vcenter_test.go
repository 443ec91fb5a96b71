// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/slipway-dev/slipway/test/vcenter"
)

// testTimeout bounds one test; nothing here takes a tenth of it on a quiet machine.
const testTimeout = 2 * time.Minute

// asVCenter makes the test binary a simulated vCenter, in the state directory
// that it names: the simulator races with itself and can crash, so that it runs
// in a process of its own.
const asVCenter = "SLIPWAY_TEST_VCENTER_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(asVCenter); dir != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err := vcenter.Run(ctx, vcenter.Options{
			StateDir: dir, ReadyFile: filepath.Join(dir, "ready.json"), GuestBootDelay: 50 * time.Millisecond,
			ControlListen: "127.0.0.1:0",
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// startVCenter starts a simulated vCenter that stops with the test.
func startVCenter(t *testing.T) vcenter.Ready {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), asVCenter+"="+dir)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	})
	var ready vcenter.Ready
	eventually(t, "the simulated vCenter is ready", func() bool {
		select {
		case <-ended:
			t.Fatal("the simulated vCenter ended")
		default:
		}
		b, err := os.ReadFile(filepath.Join(dir, "ready.json"))
		return err == nil && json.Unmarshal(b, &ready) == nil
	})
	return ready
}

// eventually waits for a condition that no event announces.
func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(testTimeout)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out: %s", what)
		}
	}
}

func credentials(context.Context) (string, string, error) {
	return vcenter.DefaultUsername, vcenter.DefaultPassword, nil
}

// calls counts the calls to vCenter.
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

// snapshot leaves out the waits for changes, which are no calls of a pass.
func (c *calls) snapshot() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := maps.Clone(c.n)
	delete(out, "WaitForUpdatesEx")
	return out
}

// admin is a second client, with which a test looks at vCenter and changes it.
func admin(t *testing.T, ready vcenter.Ready) *govmomi.Client {
	t.Helper()
	u, err := soap.ParseURL(ready.URL)
	if err != nil {
		t.Fatal(err)
	}
	sc := soap.NewClient(u, false)
	if err := sc.SetRootCAs(ready.CAFile); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	vim, err := vim25.NewClient(ctx, sc)
	if err != nil {
		t.Fatal(err)
	}
	m := session.NewManager(vim)
	if err := m.Login(ctx, url.UserPassword(vcenter.DefaultUsername, vcenter.DefaultPassword)); err != nil {
		t.Fatal(err)
	}
	return &govmomi.Client{Client: vim, SessionManager: m}
}
