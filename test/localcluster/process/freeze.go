// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	freezeTimeout = 10 * time.Second
	freezePoll    = time.Millisecond
)

// Freeze stops a process until Thaw. Its connections stay open, and it answers nothing. SIGSTOP is asynchronous:
// threads on other processors may answer another request. Where /proc exists, Freeze returns when all threads have
// stopped.
func Freeze(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stopping process %d: %w", pid, err)
	}
	look, late := time.NewTicker(freezePoll), time.After(freezeTimeout)
	defer look.Stop()
	for {
		running, err := runningThread(pid)
		if err != nil || running == "" {
			return err
		}
		select {
		case <-look.C:
		case <-late:
			return fmt.Errorf("process %d is in the state %s %s after SIGSTOP", pid, running, freezeTimeout)
		}
	}
}

// Thaw continues a process.
func Thaw(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		return fmt.Errorf("continuing process %d: %w", pid, err)
	}
	return nil
}

// runningThread returns the state of a thread that has not stopped. It is empty if all have stopped, or if the system
// does not report states.
func runningThread(pid int) (string, error) {
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return "", err
	}
	for _, file := range all {
		stat, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return "", fmt.Errorf("reading the state of a thread of process %d: %w", pid, err)
		}
		// The name before the state may contain parentheses (proc(5)).
		if state := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:]); len(state) > 0 && state[0] != 'T' {
			return string(state[:1]), nil
		}
	}
	return "", nil
}
