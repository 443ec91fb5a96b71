// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/process"
)

// The store is moved from the embedded member to an etcd cluster with a snapshot, and back. It keeps its identity, and
// nothing is written to vSphere before each release.
func TestStore_MovesToAnEtcdClusterAndBack(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.make("kept")
	id, direct, args := s.storeID(), s.direct(""), s.arguments(slipway)
	embedded := filepath.Join(localcluster.LogDir(s.dir), slipway+".log")
	stays := func(logFile string) {
		t.Helper()
		before := s.effects()
		s.awaitsRelease(direct, logFile)
		if diff := cmp.Diff(before, s.effects()); diff != "" {
			t.Errorf("tasks of vSphere before the release (-before +after):\n%s", diff)
		}
		if now := s.storeID(); now != id {
			t.Errorf("the store has the ID %s, before %s", now, id)
		}
	}

	file := filepath.Join(t.TempDir(), "backup.db")
	s.runs("virtctl", "--kubeconfig="+s.AdminKubeconfig, "backup", file)
	s.endsCleanly()
	etcd := newEtcdOf(t, file, 1)
	server := process.Spec{
		Name: "moved", Path: filepath.Join(s.bin, slipway), LogFile: filepath.Join(localcluster.LogDir(s.dir), "moved.log"),
		Args: append(args, "--etcd-servers="+etcd.endpoints(), "--etcd-unsafe-no-fsync=false"), StopTimeout: 30 * time.Second,
	}
	moved, err := process.Start(server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = moved.Kill() })
	s.powerOff(s.client(s.RestConfig()), "kept")
	stays(server.LogFile)
	s.released("--etcd-servers=" + etcd.endpoints())
	s.powered("kept", vimtypes.VirtualMachinePowerStatePoweredOff)
	s.poweredSays(s.client(s.RestConfig()), "kept")

	back := etcd.save()
	if err := moved.Stop(); err != nil {
		t.Fatal(err)
	}
	s.runs(slipway, "etcd", "restore", back, "--data-dir="+s.SlipwayDataDir())
	if err := s.RestartSlipway(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.patch(s.client(s.RestConfig()), "kept", `{"spec":{"powerState":"PoweredOn"}}`)
	stays(embedded)
	s.released("--data-dir=" + s.SlipwayDataDir())
	s.powered("kept", vimtypes.VirtualMachinePowerStatePoweredOn)
}

// storeID returns the store ID that the management cluster records.
func (s *scene) storeID() string {
	s.Helper()
	known, err := s.host().CoreV1().ConfigMaps("slipway-system").Get(s.Context(), "slipway-store", metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return known.Data["id"]
}

// runs runs a program.
func (s *scene) runs(program string, args ...string) {
	s.Helper()
	command := exec.CommandContext(s.Context(), filepath.Join(s.bin, program), args...)
	if out, err := command.CombinedOutput(); err != nil {
		s.Fatalf("%v: %v\n%s", command.Args, err, out)
	}
}
