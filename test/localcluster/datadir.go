// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dataDir is the layout of the data directory.
type dataDir string

func (d dataDir) path(elem ...string) string {
	return filepath.Join(append([]string{string(d)}, elem...)...)
}

func (d dataDir) pki() string            { return d.path("pki") }
func (d dataDir) ports() string          { return d.path("ports.json") }
func (d dataDir) lock() string           { return d.path("slipway-dev.lock") }
func (d dataDir) log(name string) string { return d.path("logs", name+".log") }
func (d dataDir) hostEtcd() string       { return d.path("host-etcd") }
func (d dataDir) slipwayData() string    { return d.path("slipway") }
func (d dataDir) vcenterState() string   { return d.path("vcenter") }

// vcenterDir is the directory in which a simulated vCenter stores its inventory and connection data.
type vcenterDir struct{ state, ready string }

// vcenter returns the directory of the vCenter with a number, from 1.
func (d dataDir) vcenter(n int) vcenterDir {
	state := d.vcenterState()
	if n > 1 {
		state = fmt.Sprintf("%s-%d", state, n)
	}
	return vcenterDir{state: state, ready: filepath.Join(state, "ready.json")}
}

func (d dataDir) vcenterPassword() string    { return d.path("vcenter", "password") }
func (d dataDir) vcenterCredentials() string { return d.path("vcenter", "credentials.yaml") }
func (d dataDir) kubeconfig(name string) string {
	return d.path("kubeconfigs", name+".kubeconfig")
}

// AdminKubeconfig is the path of the administrator's kubeconfig below dataDirectory.
func AdminKubeconfig(dataDirectory string) string {
	return dataDir(dataDirectory).path("admin.kubeconfig")
}

// LogDir is the directory of the log files below dataDirectory.
func LogDir(dataDirectory string) string { return dataDir(dataDirectory).path("logs") }

// SlipwayDataDir returns the data directory of slipway-apiserver below dataDirectory.
func SlipwayDataDir(dataDirectory string) string { return dataDir(dataDirectory).slipwayData() }

// acquire creates the directory and locks it for this process until release.
func (d dataDir) acquire() (release func(), err error) {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	f, err := os.OpenFile(d.lock(), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock of the data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			pid, _ := Running(string(d))
			return nil, fmt.Errorf("an environment already runs in %s (process %d): end it with \"slipway-dev down --data-dir=%s\" first", d, pid, ShellWord(string(d)))
		}
		return nil, fmt.Errorf("locking the data directory %s: %w", d, err)
	}
	_, err = f.WriteAt(fmt.Appendf(nil, "%-10d\n", os.Getpid()), 0)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("writing the lock of the data directory %s: %w", d, err)
	}
	return func() { _ = f.Close() }, nil
}

// Running returns the ID of the process whose environment uses dataDirectory, or 0 if there is none.
func Running(dataDirectory string) (int, error) {
	f, err := os.Open(dataDir(dataDirectory).lock())
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("looking for a running environment: %w", err)
	}
	defer f.Close()
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return 0, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, fmt.Errorf("looking for a running environment in %s: %w", dataDirectory, err)
	}
	data, err := os.ReadFile(f.Name())
	if err != nil {
		return 0, fmt.Errorf("reading the process ID of the environment: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("reading the process ID of the environment from %s: %w", f.Name(), err)
	}
	return pid, nil
}

// WaitStopped returns when no environment uses dataDirectory. It cannot be
// interrupted; callers that need a deadline call it in a goroutine.
func WaitStopped(dataDirectory string) error {
	f, err := os.Open(dataDir(dataDirectory).lock())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("waiting for the environment to stop: %w", err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		return fmt.Errorf("waiting for the environment in %s to stop: %w", dataDirectory, err)
	}
	return nil
}

// Reset removes all state below dataDirectory, and reports whether state existed. It refuses a directory in which an
// environment runs, or that no environment has created.
func Reset(dataDirectory string) (removed bool, err error) {
	d := dataDir(dataDirectory)
	if _, err := os.Stat(dataDirectory); errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if _, err := os.Stat(d.lock()); err != nil {
		return false, fmt.Errorf("%s was not created by slipway-dev and is not removed: %w", dataDirectory, err)
	}
	release, err := d.acquire()
	if err != nil {
		return false, err
	}
	defer release()
	if err := os.RemoveAll(dataDirectory); err != nil {
		return false, fmt.Errorf("removing the state: %w", err)
	}
	return true, nil
}
