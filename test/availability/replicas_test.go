// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
)

// freePort returns a port on which no process listens.
func freePort(t *testing.T) string {
	t.Helper()
	chosen, err := ports.Load(filepath.Join(t.TempDir(), "ports"), nil, slipway)
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(chosen[slipway])
}

// A process that was stopped does not know that another replica has acquired its Lease.
func TestStoppedReplica_WritesNothingWhenItContinues(t *testing.T) {
	t.Parallel()
	etcd, err := embedded.Start(t.Context(), embedded.Options{Dir: t.TempDir(), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(etcd.Close)
	s := newScene(t, "--etcd-servers="+etcd.Endpoint(), "--etcd-unsafe-no-fsync=false")
	names := []string{"split-1", "split-2", "split-3"}
	s.make(names...)
	first := s.holder()

	direct := s.other().direct
	s.serves(direct)

	wake := s.pause(slipway)
	s.eventually("the other replica has the Lease of the vCenter", func() error {
		if s.holder() == first {
			return errors.New("it has not")
		}
		return nil
	})
	for _, name := range names {
		s.powerOff(s.client(direct), name)
		s.powered(name, vimtypes.VirtualMachinePowerStatePoweredOff)
	}
	ons, offs := s.calls("PowerOnVM_Task"), s.calls("PowerOffVM_Task")
	wake()
	select {
	case err := <-s.Failed():
		if !strings.Contains(err.Error(), "another replica has the Lease") {
			t.Errorf("the continued replica ended: %v", err)
		}
	case <-time.After(deadline):
		t.Error("the continued replica did not end, although another has the Lease")
	}
	if n := s.calls("PowerOnVM_Task") - ons; n != 0 {
		t.Errorf("%d VMs were powered on that their user had powered off", n)
	}
	if n := s.calls("PowerOffVM_Task") - offs; n != 0 {
		t.Errorf("%d VMs had to be powered off again", n)
	}
}

// With the embedded etcd no other replica can replace the process. It continues when it has confirmed that it holds
// the Lease.
func TestStoppedProcess_ContinuesIfItIsTheOnlyOne(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.make("alone")
	pid := s.PID(slipway)
	wake := s.pause(slipway)
	acquired := s.holder()
	s.eventually("the Lease has expired", func() error {
		if _, renewed := s.lease(); time.Since(renewed) < 16*time.Second {
			return fmt.Errorf("it was renewed %s ago", time.Since(renewed))
		}
		return nil
	})
	wake()
	s.powerOff(s.client(s.direct("")), "alone")
	s.powered("alone", vimtypes.VirtualMachinePowerStatePoweredOff)
	if s.PID(slipway) != pid || s.holder() != acquired {
		t.Errorf("the process is %d and the holder %s, before %d and %s", s.PID(slipway), s.holder(), pid, acquired)
	}
}

func TestManagementCluster_OutageStopsNoServer(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.make("busy", "waiting")
	s.makeTyped("typed", "small", "large")
	pid, direct := s.PID(slipway), s.client(s.direct(""))
	offs := s.calls("PowerOffVM_Task")
	s.order(http.MethodPut, "/taskdelay?method=PowerOffVM_Task&ms=20000", nil)
	s.powerOff(direct, "busy")
	s.eventually("an operation runs", func() error {
		if s.calls("PowerOffVM_Task") == offs {
			return errors.New("it does not")
		}
		return nil
	})
	back := s.pause(kubeAPIServer)
	s.eventually("the controllers pause", func() error {
		if _, err := direct.VmV1alpha1().VirtualMachines(namespace).List(s.Context(), metav1.ListOptions{}); err != nil {
			t.Fatalf("the API is unavailable while the management cluster is: %v", err)
		}
		if !strings.Contains(s.log(), "The Lease could not be renewed") {
			return errors.New("the log has no such line")
		}
		return nil
	})
	s.powerOff(direct, "waiting")
	// The data for checking a size is in the server's own store.
	for _, patch := range []string{`{"spec":{"guestID":"debian12_64Guest"}}`, `{"spec":{"instancetype":{"name":"large"}}}`} {
		s.patch(direct, "typed", patch)
	}
	s.powered("busy", vimtypes.VirtualMachinePowerStatePoweredOff)
	if n := s.calls("PowerOffVM_Task") - offs; n != 1 {
		t.Errorf("%d power offs were started, want only the one before the Lease expired", n)
	}
	s.order(http.MethodPut, "/taskdelay?method=PowerOffVM_Task&ms=0", nil)
	began := time.Now()
	back()
	s.powered("waiting", vimtypes.VirtualMachinePowerStatePoweredOff)
	t.Logf("the waiting operation was done %s after the management cluster was back", time.Since(began).Round(time.Millisecond))
	if n := s.calls("PowerOffVM_Task") - offs; n != 2 {
		t.Errorf("%d power offs, want one for each VM", n)
	}
	if s.calls("CancelTask") != 0 || s.PID(slipway) != pid {
		t.Errorf("%d tasks were cancelled; the process is %d, before %d", s.calls("CancelTask"), s.PID(slipway), pid)
	}
}

func TestStart_WaitsForTheManagementCluster(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.make("old")
	if err := s.KillSlipway(); err != nil {
		t.Fatal(err)
	}
	back := s.pause(kubeAPIServer)
	started := make(chan error, 1)
	go func() { started <- s.RestartSlipway(t.Context()) }()
	direct := s.direct("")
	s.eventually("the server is alive", func() error {
		if code, _ := s.answer(direct, "/livez"); code != http.StatusOK {
			return fmt.Errorf("/livez: %d", code)
		}
		return nil
	})
	for _, path := range []string{"/readyz", "/apis/vm.slipway.dev/v1alpha1/virtualmachines", "/nothing"} {
		if code, again := s.answer(direct, path); code != http.StatusServiceUnavailable || !again {
			t.Errorf("%s: %d, Retry-After %t; want 503 and Retry-After", path, code, again)
		}
	}
	s.eventually("the log reports twice what the server waits for", func() error {
		if n := strings.Count(s.log(), "Waiting for the management cluster"); n < 2 {
			return fmt.Errorf("it does %d times", n)
		}
		return nil
	})
	began := time.Now()
	back()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Logf("the API was served %s after the management cluster was back", time.Since(began).Round(time.Millisecond))
	s.powerOff(s.client(s.RestConfig()), "old")
	s.powered("old", vimtypes.VirtualMachinePowerStatePoweredOff)
}

func TestStart_CanBeCanceledWhileItWaitsForTheManagementCluster(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	if err := s.KillSlipway(); err != nil {
		t.Fatal(err)
	}
	s.pause(kubeAPIServer)
	go func() { _ = s.RestartSlipway(t.Context()) }()
	direct := s.direct("")
	s.eventually("the server is alive", func() error {
		if code, _ := s.answer(direct, "/livez"); code != http.StatusOK {
			return fmt.Errorf("/livez: %d", code)
		}
		return nil
	})
	s.endsCleanly()
}

// endsCleanly stops slipway-apiserver as kubelet does.
func (s *scene) endsCleanly() {
	s.Helper()
	if err := syscall.Kill(s.PID(slipway), syscall.SIGTERM); err != nil {
		s.Fatal(err)
	}
	select {
	case err := <-s.Failed():
		if !strings.Contains(err.Error(), "ended by itself (exit status 0)") {
			s.Errorf("a stopped server: %v", err)
		}
	case <-time.After(deadline):
		s.Fatal("the server does not stop")
	}
}

func TestStop_ReleasesTheLeaseForTheNextStart(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.make("kept")
	before := s.holder()

	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	second := exec.CommandContext(ctx, filepath.Join(s.bin, slipway), append(s.arguments(slipway), "--secure-port="+freePort(t))...)
	var out bytes.Buffer
	second.Stdout, second.Stderr = &out, &out
	var exit *exec.ExitError
	if err := second.Run(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(out.String(), "is in use by another process") {
		t.Errorf("a second process on the directory: %v\n%s", err, out.String())
	}
	if strings.Contains(out.String(), "Serving securely") {
		t.Error("it listened although the directory is in use")
	}

	kept, err := s.client(s.RestConfig()).VmV1alpha1().VirtualMachines(namespace).Patch(t.Context(), "kept", types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"last":"write"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.endsCleanly()
	if held := s.holder(); held != "" {
		t.Errorf("the Lease is still held by %s", held)
	}
	if known := s.knownRevision(); known < s.revision(kept.ResourceVersion) {
		t.Errorf("the management cluster records store revision %d, and the last write was %s", known, kept.ResourceVersion)
	}
	if err := s.RestartSlipway(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.powerOff(s.client(s.RestConfig()), "kept")
	s.powered("kept", vimtypes.VirtualMachinePowerStatePoweredOff)
	if now := s.holder(); now != before {
		t.Errorf("the Lease is held by %s, before the stop by %s", now, before)
	}
}
