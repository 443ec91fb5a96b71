// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"
)

// Whenever the server is killed, its successor takes the snapshot once, ends the revert with
// the object and the VM of then, and deletes no more than was asked for.
func TestAServerThatIsKilledWithASnapshotGoesOnWithIt(t *testing.T) {
	another(t)
	u := admin(t)
	u.apply(catalogue + vmManifest("web"))
	u.kubectl("label", "vm/web", "release=1")
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	names := map[string]string{"CreateSnapshotEx_Task": "first", "answer.CreateSnapshotEx_Task": "second"}
	for _, step := range []string{"CreateSnapshotEx_Task", "answer.CreateSnapshotEx_Task"} {
		name := names[step]
		u.killedAt(step, func() { u.virtctl("snapshot", "create", "web", name) })
		u.kubectl("wait", "--for=condition=Ready", "vmsnap/"+name, "--timeout=110s")
	}
	// Each once, and the second in the first.
	u.wants("vm/web", ".status.snapshots[*].name", "first second")
	u.wants("vm/web", ".status.currentSnapshot", "second")

	// Without memory a snapshot is one of a VM that is off.
	for _, step := range []string{"RevertToSnapshot_Task", "answer.RevertToSnapshot_Task"} {
		u.virtctl("start", "web", "--wait", "--timeout", "110s")
		u.kubectl("label", "--overwrite", "vm/web", "release=2")
		u.killedAt(step, func() { u.virtctl("snapshot", "revert", "web", "first") })
		u.wants("vm/web", ".spec.currentSnapshotName", "")
		u.wants("vm/web", ".metadata.labels.release", "1")
		u.wants("vm/web", ".spec.powerState", "PoweredOff")
		u.wants("vm/web", ".status.powerState", "PoweredOff")
		u.wants("vm/web", ".status.currentSnapshot", "first")
		u.wants("vm/web", ".status.snapshots[*].name", "first second")
	}

	for _, deletion := range []struct{ step, name, left string }{{"RemoveSnapshot_Task", "first", "second"}, {"answer.RemoveSnapshot_Task", "second", ""}} {
		u.killedAt(deletion.step, func() { u.kubectl("delete", "vmsnap/"+deletion.name, "--wait=false") })
		u.kubectl("wait", "--for=delete", "vmsnap/"+deletion.name, "--timeout=110s")
		u.wants("vm/web", ".status.snapshots[*].name", deletion.left)
	}
	u.virtctl("start", "web", "--wait", "--ready", "--timeout", "110s")
	u.kubectl("delete", "vm/web", "--timeout=90s")
	gone(t, u.namespace)
}
