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

// sockets are the paths of the member's two listeners.
type sockets struct {
	client, peer string
	// tempDir is the directory made for them when dir is too deep; else empty.
	tempDir string
}

// socketPaths puts the sockets into dir, or into a fresh temporary directory when
// the path would be longer than the system allows.
func socketPaths(dir string) (sockets, error) {
	s := sockets{client: filepath.Join(dir, clientSocket), peer: filepath.Join(dir, peerSocket)}
	if len(s.client) > maxSocketPath {
		temp, err := os.MkdirTemp("", "slipway-etcd-")
		if err != nil {
			return sockets{}, fmt.Errorf("making a directory for etcd's sockets, because %q is too long a path for one: %w", s.client, err)
		}
		s = sockets{client: filepath.Join(temp, clientSocket), peer: filepath.Join(temp, peerSocket), tempDir: temp}
		if len(s.client) > maxSocketPath {
			_ = os.RemoveAll(temp)
			return sockets{}, fmt.Errorf("no path short enough for etcd's socket: %q has %d bytes, at most %d are allowed; set TMPDIR to a shorter one", s.client, len(s.client), maxSocketPath)
		}
	}
	// A killed process leaves its sockets behind, and nobody can listen on them again.
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

// awaitLock locks the directory, which another process may have for timeout: the threads of a
// process that was killed need a moment to end.
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

// lockDir takes the directory for this process. etcd's own lock comes after the
// stale sockets were removed, which must not happen to a running member.
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
		return nil, fmt.Errorf("taking the lock of the etcd data directory: %w", err)
	}
	return f, nil
}
