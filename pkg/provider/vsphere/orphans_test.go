// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

func TestOrphans_AreFound(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	first, _ := startProvider(t, ready, nil)
	l := newLoop(t, first)
	left, kept := newRequest("left", libraryImage()), newRequest("kept", libraryImage())
	l.until("both VMs run", func() bool { return isRunning(left)() && isRunning(kept)() }, left, kept)
	createVM(t, ready, "/DC0/vm/slipway", "by-hand")

	// Another process knows only the state in vCenter.
	p, _ := startProvider(t, ready, nil)
	find := func() ([]engine.Orphan, bool) {
		return p.Orphans(func(key types.NamespacedName, uid types.UID) (string, bool) {
			return kept.VM.Status.UniqueID, key == keyOf(kept) && uid == kept.VM.UID
		})
	}
	eventually(t, "the inventory is read", func() bool { _, known := find(); return known })
	found, _ := find()
	want := []engine.Orphan{{Owned: driver.Owned{Key: keyOf(left), UID: left.VM.UID, UniqueID: left.VM.Status.UniqueID, Name: "left",
		InstanceUUID: string(left.VM.UID), BiosUUID: left.VM.Status.BiosUUID, Recorded: vmrecord.HeadOf(left.VM)}}}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("orphans (-want +got):\n%s", diff)
	}
}
