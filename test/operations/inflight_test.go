// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"net/http"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// vCenter completes operations of a killed server. A machine that appears after its object was deleted is an orphan.
func TestVirtualMachine_DeletedDuringItsCreationLeavesNothingWhenTheServerIsKilled(t *testing.T) {
	u := admin(t)
	u.Apply(testenv.Catalogue)
	testenv.Order(t, http.MethodPut, "/taskdelay?method=CreateVm&ms=10000")
	t.Cleanup(func() { testenv.Order(t, http.MethodPut, "/taskdelay?method=CreateVm&ms=0") })
	u.Apply(testenv.VM("web"))
	u.Wants("vm/web", `.status.conditions[?(@.type=="Created")].reason`, "Creating")
	u.Kubectl("delete", "vm/web", "--wait=false")
	u.KillSlipway()
	u.Wants("vm/web", ".metadata.name", "")
	// The last operation of the killed server has ended when a task that started later and takes as long has ended.
	u.Apply(testenv.VM("later"))
	u.Kubectl("wait", "--for=condition=Ready", "vm/later", "--timeout=120s")
	for name := range testenv.Inventory(t, u.Namespace) {
		if name != "later" {
			t.Errorf("vCenter has the VM %s, whose object is deleted", name)
		}
	}
}
