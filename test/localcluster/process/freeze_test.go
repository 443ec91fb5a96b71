// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package process

import (
	"os/exec"
	"testing"
)

func TestFreeze_StopsAllThreads(t *testing.T) {
	busy := exec.Command("sh", "-c", "while :; do :; done")
	if err := busy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = busy.Process.Kill()
		_ = busy.Wait()
	})
	for range 200 {
		if err := Freeze(busy.Process.Pid); err != nil {
			t.Fatal(err)
		}
		if state, err := runningThread(busy.Process.Pid); state != "" || err != nil {
			t.Fatalf("a thread is in the state %s, %v", state, err)
		}
		if err := Thaw(busy.Process.Pid); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFreeze_FailsIfTheProcessDoesNotRun(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	if Freeze(gone.Process.Pid) == nil || Thaw(gone.Process.Pid) == nil {
		t.Error("a process that has ended is stopped and continued")
	}
}
