// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// For every time of the kill the next server process takes the snapshot once, completes the revert with the object and
// the VM of that time, and deletes only the requested snapshots.
func TestKilledServer_ContinuesWithASnapshot(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.Catalogue + testenv.VM("web"))
	u.Kubectl("label", "vm/web", "release=1")
	u.Kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	names := map[string]string{"CreateSnapshotEx_Task": "first", "answer.CreateSnapshotEx_Task": "second"}
	for _, step := range []string{"CreateSnapshotEx_Task", "answer.CreateSnapshotEx_Task"} {
		name := names[step]
		u.killedAt(step, func() { u.Virtctl("snapshot", "create", "web", name) })
		u.Kubectl("wait", "--for=condition=Ready", "vmsnap/"+name, "--timeout=110s")
	}
	// Each snapshot exists once. The second one is a child of the first.
	u.Wants("vm/web", ".status.snapshots[*].name", "first second")
	u.Wants("vm/web", ".status.currentSnapshot", "second")

	// A VM is powered off after a revert to a snapshot without memory.
	for _, step := range []string{"RevertToSnapshot_Task", "answer.RevertToSnapshot_Task"} {
		u.Virtctl("start", "web", "--wait", "--timeout", "110s")
		u.Kubectl("label", "--overwrite", "vm/web", "release=2")
		u.killedAt(step, func() { u.Virtctl("snapshot", "revert", "web", "first") })
		u.Wants("vm/web", ".spec.currentSnapshotName", "")
		u.Wants("vm/web", ".metadata.labels.release", "1")
		u.Wants("vm/web", ".spec.powerState", "PoweredOff")
		u.Wants("vm/web", ".status.powerState", "PoweredOff")
		u.Wants("vm/web", ".status.currentSnapshot", "first")
		u.Wants("vm/web", ".status.snapshots[*].name", "first second")
	}

	for _, deletion := range []struct{ step, name, left string }{{"RemoveSnapshot_Task", "first", "second"}, {"answer.RemoveSnapshot_Task", "second", ""}} {
		u.killedAt(deletion.step, func() { u.Kubectl("delete", "vmsnap/"+deletion.name, "--wait=false") })
		u.Kubectl("wait", "--for=delete", "vmsnap/"+deletion.name, "--timeout=110s")
		u.Wants("vm/web", ".status.snapshots[*].name", deletion.left)
	}
	u.Virtctl("start", "web", "--wait", "--ready", "--timeout", "110s")
	u.Kubectl("delete", "vm/web", "--timeout=90s")
	testenv.Gone(t, u.Namespace)
}
