// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// maxSocketPath is the longest path that fits sockaddr_un on Linux (108 bytes with
// the terminating zero); other systems allow 104.
const maxSocketPath = 103

const (
	clientSocket = "client.sock"
	peerSocket   = "peer.sock"
	lockFile     = "lock"
)

// sockets has the paths of the member's two sockets.
type sockets struct {
	client, peer string
	// tempDir is the directory of the sockets if the path of dir is too long, else empty.
	tempDir string
}

// socketPaths returns the paths of the sockets in dir, or in a new temporary directory if the path would be longer than the system
// allows.
func socketPaths(dir string) (sockets, error) {
	s := sockets{client: filepath.Join(dir, clientSocket), peer: filepath.Join(dir, peerSocket)}
	if len(s.client) > maxSocketPath {
		temp, err := os.MkdirTemp("", "slipway-etcd-")
		if err != nil {
			return sockets{}, fmt.Errorf("creating a directory for etcd's sockets, because %q is too long for a socket: %w", s.client, err)
		}
		s = sockets{client: filepath.Join(temp, clientSocket), peer: filepath.Join(temp, peerSocket), tempDir: temp}
		if len(s.client) > maxSocketPath {
			_ = os.RemoveAll(temp)
			return sockets{}, fmt.Errorf("no path short enough for etcd's socket: %q has %d bytes, at most %d are allowed; set TMPDIR to a shorter one", s.client, len(s.client), maxSocketPath)
		}
	}
	// A killed process does not remove its sockets, and a process cannot listen on an existing socket.
	for _, path := range []string{s.client, s.peer} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return sockets{}, fmt.Errorf("removing a stale socket of etcd: %w", err)
		}
	}
	return s, nil
}

var errInUse = errors.New("is in use by another process")

// lockRetry is the pause between two attempts to lock a directory.
const lockRetry = 20 * time.Millisecond

// awaitLock locks the directory and waits for another process up to timeout: the threads of a killed process need a moment to end.
func awaitLock(ctx context.Context, dir string, timeout time.Duration) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		f, err := lockDir(dir)
		if !errors.Is(err, errInUse) {
			return f, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(lockRetry):
		}
	}
}

// lockDir locks the directory for this process. etcd's own lock is taken only after the stale sockets are removed, and sockets of a
// running member must not be removed.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the etcd data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the etcd data directory %s %w", dir, errInUse)
		}
		return nil, fmt.Errorf("locking the etcd data directory %s: %w", dir, err)
	}
	if err := f.Truncate(0); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking the etcd data directory: %w", err)
	}
	return f, nil
}
