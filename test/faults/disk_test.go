// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// diskSize is the space for five segments of etcd's log and five spare ones, the copy of a segment under repair (64 MiB
// each), a database at the quota, and the space that maintenance.DiskMargin requires.
const diskSize = "size=896m"

// noSpace is the error of a full file system.
const noSpace = "no space left on device"

// ownFileSystem mounts a file system for the data of the server. It returns an error if mounting is not allowed.
func ownFileSystem(t *testing.T, data string) error {
	if err := os.MkdirAll(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", diskSize, "tmpfs", data).CombinedOutput(); err != nil {
		return fmt.Errorf("mounting a tmpfs takes a right that is missing here: %w: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", data).CombinedOutput(); err != nil {
			t.Errorf("unmounting %s: %v: %s", data, err, out)
		}
	})
	return nil
}

func (e *environment) ballast() string { return filepath.Join(e.SlipwayDataDir(), "ballast") }

// fillDisk fills the file system until the server has ended, and checks the behaviour of a server that is started
// then.
func fillDisk(ctx context.Context, e *environment) error {
	for len(e.Failed()) > 0 {
		<-e.Failed() // the condition of a previous start
	}
	if err := writeUntilFull(e.ballast()); err != nil {
		return err
	}
	if err := e.overfill(ctx); err == nil {
		return errors.New("a store without room took a write")
	}
	select {
	case err := <-e.Failed():
		if !strings.Contains(err.Error(), noSpace) {
			return fmt.Errorf("the server ends without %q: %w", noSpace, err)
		}
	case <-time.After(deadline):
		return errors.New("the server runs although its disk is full")
	case <-ctx.Done():
		return ctx.Err()
	}
	return e.isNotReadyWithoutRoom(ctx)
}

// isNotReadyWithoutRoom starts the server with a full disk. The server exits with the cause, or reports it if the
// space that was freed is enough to start.
func (e *environment) isNotReadyWithoutRoom(ctx context.Context) error {
	started := make(chan error, 1)
	go func() { started <- e.RestartSlipway(ctx) }()
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, deadline, true, func(ctx context.Context) (bool, error) {
		select {
		case err := <-started:
			if err == nil || !strings.Contains(err.Error(), noSpace) {
				return false, fmt.Errorf("a start without room: %w, want %q", err, noSpace)
			}
			return true, nil
		default:
			return e.unready(ctx, "etcd-space") == nil, nil
		}
	})
	return errors.Join(err, e.KillSlipway())
}

// writeUntilFull creates a file that fills the rest of the file system.
func writeUntilFull(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	for block := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(block)
	}
	if err = errors.Join(err, f.Close()); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("filling the file system: %w", err)
	}
	return nil
}

// emptyDisk frees space and waits until the server starts.
func emptyDisk(ctx context.Context, e *environment) error {
	if err := os.Remove(e.ballast()); err != nil {
		return err
	}
	if err := e.RestartSlipway(ctx); err != nil {
		return err
	}
	return emptyStore(ctx, e)
}
