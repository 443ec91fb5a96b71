// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// shell runs a script as a child that is killed at the end of the test.
func shell(t *testing.T, script string, stopTimeout time.Duration) *Process {
	t.Helper()
	p, err := Start(Spec{
		Name: "child", Path: "/bin/sh", Args: []string{"-c", script},
		LogFile: filepath.Join(t.TempDir(), "logs", "child.log"), StopTimeout: stopTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill() })
	return p
}

// logged waits until the child has written text to its log.
func logged(p *Process, text string) func(context.Context) error {
	return func(context.Context) error {
		if data, _ := os.ReadFile(p.spec.LogFile); !strings.Contains(string(data), text) {
			return fmt.Errorf("%q is not in the log", text)
		}
		return nil
	}
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestStop_EndsTheWholeProcessGroup(t *testing.T) {
	p := shell(t, `sleep 600 & echo "grandchild $!"; wait`, time.Minute)
	if err := p.WaitFor(within(t, time.Minute), logged(p, "grandchild ")); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if p.Running() {
		t.Error("the child runs after Stop")
	}
	if err := p.Failure(); err != nil {
		t.Errorf("a stopped child counts as failed: %v", err)
	}
	// The group is empty after the grandchild, which got the same signal, has ended.
	waitGone(t, -p.PID())
	if err := p.Stop(); err != nil {
		t.Errorf("second Stop: %v", err)
	}
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	ctx := within(t, time.Minute)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		select {
		case <-ctx.Done():
			t.Fatalf("process %d is still there", pid)
		case <-ticker.C:
		}
	}
}

func TestStop_KillsAChildThatIgnoresTheSignal(t *testing.T) {
	p := shell(t, `trap "" TERM; echo ready; while :; do sleep 600; done`, 50*time.Millisecond)
	if err := p.WaitFor(within(t, time.Minute), logged(p, "ready")); err != nil {
		t.Fatal(err)
	}
	err := p.Stop()
	if err == nil || !strings.Contains(err.Error(), "was killed") {
		t.Errorf("Stop = %v, want that it was killed", err)
	}
	if p.Running() {
		t.Error("the child still runs")
	}
}

func TestProcess_EarlyExitIsReportedWithTheLog(t *testing.T) {
	p := shell(t, `for i in 1 2 3; do echo "line $i"; done; echo "port is taken" >&2; exit 3`, 0)
	err := p.WaitFor(within(t, time.Minute), func(context.Context) error { return errors.New("never") })
	if err == nil {
		t.Fatal("WaitFor succeeded though the child ended")
	}
	for _, want := range []string{"child ended by itself", "exit status 3", "line 1\nline 2\nline 3\nport is taken"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not contain %q", err, want)
		}
	}
}

func TestWaitFor_EndsWithItsContext(t *testing.T) {
	p := shell(t, "sleep 600", 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	why, notReady := errors.New("user gave up"), errors.New("503")
	cancel(why)
	err := p.WaitFor(ctx, func(context.Context) error { return notReady })
	if !errors.Is(err, why) || !errors.Is(err, notReady) {
		t.Errorf("WaitFor = %v, want both the cause and the last answer", err)
	}
}

func TestProcess_MissingProgramIsAnError(t *testing.T) {
	_, err := Start(Spec{Name: "nothing", Path: "/does/not/exist", LogFile: filepath.Join(t.TempDir(), "log")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Start = %v, want that it does not exist", err)
	}
}

func TestTail_ReturnsTheLastLines(t *testing.T) {
	numbered := func(from, to int) string {
		var lines []string
		for i := from; i <= to; i++ {
			lines = append(lines, fmt.Sprintf("line %d", i))
		}
		return strings.Join(lines, "\n")
	}
	for name, tc := range map[string]struct{ earlier, content, want string }{
		"empty":       {"", "", "(it is empty)"},
		"short":       {"", "one\ntwo\n", "one\ntwo"},
		"many lines":  {"", numbered(1, 40), numbered(26, 40)},
		"earlier run": {"old\n", "new\n", "new"},
		"huge line":   {"", strings.Repeat("x", 2*tailBytes), strings.Repeat("x", tailBytes)},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			if err := os.WriteFile(path, []byte(tc.earlier+tc.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, tail(path, int64(len(tc.earlier)))); diff != "" {
				t.Errorf("tail (-want +got):\n%s", diff)
			}
		})
	}
}
