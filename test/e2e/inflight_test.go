// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"testing"
)

// vCenter goes on with what a server that was killed has asked for: a machine that
// appears after its object was deleted belongs to nobody.
func TestVirtualMachineDeletedWhileItIsMadeLeavesNothingWhenTheServerIsKilled(t *testing.T) {
	// The simulator's list of recent tasks has 200 in all; that of vCenter has the last
	// 200 that have completed, and all that run. What other tests do would push out the
	// one that this test is about.
	another(t)
	u := admin(t)
	u.apply(catalogue)
	orderVCenter(t, http.MethodPut, "/taskdelay?method=CreateVm&ms=10000")
	t.Cleanup(func() { orderVCenter(t, http.MethodPut, "/taskdelay?method=CreateVm&ms=0") })
	u.apply(vmManifest("web"))
	u.wants("vm/web", `.status.conditions[?(@.type=="Created")].reason`, "Creating")
	u.kubectl("delete", "vm/web", "--wait=false")
	u.killSlipway()
	u.wants("vm/web", ".metadata.name", "")
	// The last that the dead server asked for has ended when a task that was begun after
	// it, and takes as long, has.
	u.apply(vmManifest("later"))
	u.kubectl("wait", "--for=condition=Ready", "vm/later", "--timeout=120s")
	for name := range inventory(t, u.namespace) {
		if name != "later" {
			t.Errorf("vCenter has the VM %s, whose object is gone", name)
		}
	}
}
