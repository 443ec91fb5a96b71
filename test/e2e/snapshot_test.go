// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"
)

func TestTheExampleOfASnapshotIsReady(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.applyExamples("../../artifacts/examples/quickstart.yaml", "../../artifacts/examples/snapshot.yaml")
	u.kubectl("wait", "--for=condition=Ready", "vmsnap/web-1-before-upgrade", "--timeout=90s")
	u.wants("vmsnap/web-1-before-upgrade", ".status.powerState", "PoweredOn")
	u.wants("vm/web-1", ".status.currentSnapshot", "web-1-before-upgrade")
}

// Story 6: an upgrade fails, and the instance type has changed since. What comes back is the
// virtual machine with the size that it had.
func TestAFailedUpgradeIsReverted(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("web"))
	u.kubectl("label", "vm/web", "release=1")
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	size := u.get("vm/web", ".status.resources.vcpus")
	revision := u.get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name")
	if out := u.virtctl("snapshot", "create", "web", "before", "--wait"); !strings.Contains(out, "/before ready") {
		t.Errorf("virtctl says %q", out)
	}
	u.wants("vmsnap/before", ".status.instancetypeRevision", revision)

	u.kubectl("label", "--overwrite", "vm/web", "release=2")
	u.kubectl("patch", "virtualmachineinstancetype/small", "--type=merge", "-p", `{"spec":{"cpu":{"guest":8}}}`)
	u.virtctl("refresh", "instancetype", "web")
	u.virtctl("stop", "web", "--mode=Hard")
	u.wants("vm/web", ".status.resources.vcpus", "8")
	u.kubectl("delete", "virtualmachineinstancetype/small")

	u.virtctl("snapshot", "revert", "web", "before", "--wait")
	u.wants("vm/web", ".metadata.labels.release", "1")
	u.wants("vm/web", ".spec.currentSnapshotName", "")
	u.wants("vm/web", ".spec.powerState", "PoweredOff")
	u.wants("vm/web", ".spec.instancetype.controllerRevisionRef.name", revision)
	u.wants("vm/web", ".status.resources.vcpus", size)
	u.virtctl("start", "web")
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	u.wants("vm/web", ".status.resources.vcpus", size)

	u.virtctl("snapshot", "delete", "before", "--wait")
	u.wants("vm/web", ".status.snapshots", "")
	u.kubectl("delete", "vm/web", "--timeout=90s")
}

func TestNightlySnapshotsAreKeptAsLongAsAsked(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(catalogue + vmManifest("db"))
	u.kubectl("wait", "--for=condition=Ready", "vm/db", "--timeout=90s")
	u.apply(`
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineSnapshot
metadata: {name: by-hand}
spec: {vmName: db}
`)
	u.kubectl("wait", "--for=condition=Ready", "vmsnap/by-hand", "--timeout=90s")
	for _, night := range []string{"monday", "tuesday", "wednesday"} {
		u.virtctl("snapshot", "create", "db", night, "--quiesce", "--keep", "2")
	}
	u.kubectl("wait", "--for=delete", "vmsnap/monday", "--timeout=90s")
	u.wants("vm/db", ".status.snapshots[*].name", "by-hand tuesday wednesday")
	if out := u.virtctl("snapshot", "list", "db"); !strings.Contains(out, "    wednesday") || !strings.Contains(out, "by-hand") {
		t.Errorf("the tree is\n%s", out)
	}
	if out := u.virtctl("snapshot", "list"); !strings.Contains(out, "tuesday") || strings.Contains(out, "monday") {
		t.Errorf("the snapshots are\n%s", out)
	}
	u.kubectl("delete", "vm/db", "--timeout=90s")
	u.kubectl("wait", "--for=delete", "vmsnap/tuesday", "--timeout=90s")
}
