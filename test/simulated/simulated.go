// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package simulated starts the simulated vCenter for a test, in a process of its own:
// the simulator races with itself and may crash.
//
// Guarantees:
//   - A vCenter ends with the test that started it.
//   - A test package needs nothing but Main as its TestMain.
package simulated

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/vmware/govmomi"

	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// Patience bounds every wait for what happens by itself.
const Patience = 2 * time.Minute

// asVCenter is the environment variable that makes the test program a simulated vCenter
// with the options that it holds.
const asVCenter = "SLIPWAY_TEST_VCENTER"

// Main runs the tests, or the simulated vCenter of one of them. It does not return.
func Main(m *testing.M) {
	given := os.Getenv(asVCenter)
	if given == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var options vcenter.Options
	err := json.Unmarshal([]byte(given), &options)
	if err == nil {
		err = vcenter.Run(ctx, options)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Start starts a simulated vCenter that stops with the test.
func Start(t testing.TB, changes ...func(*vcenter.Options)) vcenter.Ready {
	t.Helper()
	dir := t.TempDir()
	options := vcenter.Options{
		StateDir: dir, ReadyFile: filepath.Join(dir, "ready.json"), GuestBootDelay: 50 * time.Millisecond, ControlListen: "127.0.0.1:0",
	}
	for _, change := range changes {
		change(&options)
	}
	given, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), asVCenter+"="+string(given))
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
	Eventually(t, "the simulated vCenter is ready", func() bool {
		select {
		case <-ended:
			t.Fatal("the simulated vCenter ended")
		default:
		}
		content, err := os.ReadFile(options.ReadyFile)
		return err == nil && json.Unmarshal(content, &ready) == nil
	})
	return ready
}

// Eventually waits for a condition that no event announces.
func Eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(Patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("timed out: %s", what)
		}
	}
}

// Control orders the simulated vCenter to do something, and returns its answer.
func Control(t testing.TB, ready vcenter.Ready, method, path string) []byte {
	t.Helper()
	body, err := vsphereclient.Order(t.Context(), ready.ControlURL, method, path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// Operator is a session of somebody else, who may do everything.
func Operator(t testing.TB, ready vcenter.Ready) *govmomi.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	c, err := vsphereclient.Login(ctx, ready.URL, ready.CAFile, vcenter.OperatorUsername, vcenter.DefaultPassword)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
