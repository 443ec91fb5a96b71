// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

func TestSnapshots_AreKeptAsRequestedAndRevertedTo(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.Put(testenv.Catalogue)
	u.part("nightly ones", func(t *testing.T, u user) { u.keepsSnapshots(t) })
	u.part("after a failed upgrade", func(t *testing.T, u user) { u.revertsUpgrade(t) })
}

// revertsUpgrade tests a failed upgrade after which the instance type has changed. The revert restores the virtual
// machine with its previous size.
func (u user) revertsUpgrade(t *testing.T) {
	u.Put(testenv.VM("web"))
	u.Label("vm/web", "release=1")
	u.Ready("vm/web")
	size := u.Get("vm/web", ".status.resources.vcpus")
	revision := u.Get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name")
	if out := u.Virtctl("snapshot", "create", "web", "before", "--wait"); !strings.Contains(out, "/before ready") {
		t.Errorf("the output of virtctl is %q", out)
	}
	u.Wants("vmsnap/before", ".status.instancetypeRevision", revision)

	u.Label("vm/web", "release=2")
	u.Patch("virtualmachineinstancetype/small", `{"spec":{"cpu":{"guest":8}}}`)
	u.Virtctl("refresh", "instancetype", "web")
	u.Virtctl("stop", "web", "--mode=Hard")
	u.Wants("vm/web", ".status.resources.vcpus", "8")
	u.Delete("virtualmachineinstancetype/small")

	u.Virtctl("snapshot", "revert", "web", "before", "--wait")
	u.Wants("vm/web", ".metadata.labels.release", "1")
	u.Wants("vm/web", ".spec.currentSnapshotName", "")
	u.Wants("vm/web", ".spec.powerState", "PoweredOff")
	u.Wants("vm/web", ".spec.instancetype.controllerRevisionRef.name", revision)
	u.Wants("vm/web", ".status.resources.vcpus", size)
	u.Virtctl("start", "web")
	u.Ready("vm/web")
	u.Wants("vm/web", ".status.resources.vcpus", size)

	u.Virtctl("snapshot", "delete", "before", "--wait")
	u.Wants("vm/web", ".status.snapshots", "")
	u.Delete("vm/web")
}

func (u user) keepsSnapshots(t *testing.T) {
	u.Put(testenv.VM("db"))
	u.Ready("vm/db")
	u.Put(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineSnapshot
metadata: {name: by-hand}
spec: {vmName: db}
`)
	u.Ready("vmsnap/by-hand")
	for _, night := range []string{"monday", "tuesday", "wednesday"} {
		u.Virtctl("snapshot", "create", "db", night, "--quiesce", "--keep", "2")
	}
	u.Wants("vmsnap/monday", ".metadata.name", "")
	u.Wants("vm/db", ".status.snapshots[*].name", "by-hand tuesday wednesday")
	if out := u.Virtctl("snapshot", "list", "db"); !strings.Contains(out, "    wednesday") || !strings.Contains(out, "by-hand") {
		t.Errorf("the tree is\n%s", out)
	}
	if out := u.Virtctl("snapshot", "list"); !strings.Contains(out, "tuesday") || strings.Contains(out, "monday") {
		t.Errorf("the snapshots are\n%s", out)
	}
	u.Delete("vm/db")
	u.Wants("vmsnap/tuesday", ".metadata.name", "")
}
