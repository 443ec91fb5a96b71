// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// parentEnv makes the test binary act as a parent that starts one child.
const parentEnv = "SLIPWAY_TEST_PARENT_LOG"

func TestMain(m *testing.M) {
	if log := os.Getenv(parentEnv); log != "" {
		if _, err := Start(Spec{Name: "orphan", Path: "/bin/sh", Args: []string{"-c", `echo "pid $$"; exec sleep 600`}, LogFile: log}); err != nil {
			panic(err)
		}
		select {}
	}
	os.Exit(m.Run())
}

func TestChild_IsKilledWithItsParent(t *testing.T) {
	log := filepath.Join(t.TempDir(), "orphan.log")
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentEnv+"="+log)
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = parent.Process.Kill() })

	pid := childPID(t, log)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitGone(t, pid)
}

func childPID(t *testing.T, log string) int {
	t.Helper()
	ctx := within(t, time.Minute)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	for {
		data, _ := os.ReadFile(log)
		if text, ok := strings.CutPrefix(string(data), "pid "); ok && strings.HasSuffix(text, "\n") {
			pid, err := strconv.Atoi(strings.TrimSpace(text))
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
		select {
		case <-ctx.Done():
			t.Fatal("the parent started no child")
		case <-ticker.C:
		}
	}
}
