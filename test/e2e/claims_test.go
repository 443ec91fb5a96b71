// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"

	vimtypes "github.com/vmware/govmomi/vim25/types"
)

// volumeStatus is a field of the status of a volume.
func volumeStatus(volume, field string) string {
	return fmt.Sprintf(`.status.volumes[?(@.name==%q)].%s`, volume, field)
}

const volumesReady = `.status.conditions[?(@.type=="VolumesReady")].`

func TestClaimIsAttachedBeforePowerOnAndDetachedBeforeTheVMGoes(t *testing.T) {
	u := admin(t)
	c := newClaim(u, "data")
	u.apply(catalogue + vmManifest("web", withClaim("data", "data")))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	c.lives("web")
	u.wants("vm/web", volumesReady+"status", "True")
	u.wants("vm/web", volumeStatus("data", "attached"), "true")
	u.wants("vm/web", volumeStatus("data", "claimName"), "data")
	u.wants("vm/web", volumeStatus("data", "volumeID"), c.id)
	backing, ok := c.disk("web").Backing.(*vimtypes.VirtualDiskFlatVer2BackingInfo)
	if !ok || backing.Uuid == "" {
		t.Fatalf("the disk has backing %+v", c.disk("web").Backing)
	}
	u.wants("vm/web", volumeStatus("data", "diskUUID"), backing.Uuid)
	if got := u.get("pvc/data", ".metadata.finalizers"); !strings.Contains(got, "vm.slipway.dev/claim-in-use") {
		t.Errorf("the claim has finalizers %s", got)
	}

	// Who deletes the claim waits for the virtual machine.
	u.kubectl("delete", "pvc/data", "--wait=false")
	u.kubectl("delete", "vm/web", "--timeout=90s")
	gone(t, u.namespace)
	u.wants("pvc/data", ".metadata.name", "")
	c.lives()
}
