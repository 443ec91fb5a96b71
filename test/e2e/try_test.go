// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/testenv"
)

// tried runs virtctl check --try, which must exit with status 0 or 1 and print all of the given texts. It must leave
// no virtual machine of its own and must not change other virtual machines.
func (u user) tried(succeeds bool, args []string, says ...string) {
	u.T.Helper()
	out, errOut, err := u.Try("", "virtctl", append([]string{"check", "--try"}, args...)...)
	if succeeds != (err == nil) || err != nil && err.Error() != "exit status 1" {
		u.T.Errorf("virtctl check --try %s ends with %v", strings.Join(args, " "), err)
	}
	testenv.Holds(u.T, "virtctl check --try "+strings.Join(args, " "), out+errOut, says...)
	u.keepsOnly("mine")
}

// keepsOnly compares the virtual machines of the namespace, as objects and in vSphere.
func (u user) keepsOnly(name string) {
	u.T.Helper()
	if left := strings.Fields(u.Get("vm", ".items[*].metadata.name")); len(left) != 1 || left[0] != name {
		u.T.Errorf("there are %s, want %s alone", left, name)
	}
	for in := range testenv.Inventory(u.T, u.Namespace) {
		if in != name {
			u.T.Errorf("vSphere has %s", in)
		}
	}
}

func TestVirtctlCheck_TriesAVirtualMachineAndLeavesNothing(t *testing.T) {
	t.Parallel()
	u := admin(t)
	// A VM that only has the label belongs to another client.
	u.Put(testenv.Catalogue + strings.Replace(testenv.InlineVM("mine", "photon-5", "powerState: PoweredOff"), "{name: mine}", "{name: mine, labels: {app.kubernetes.io/managed-by: virtctl-check}}", 1))
	u.Ready("vm/mine")
	u.Wants("vmimage/photon-5", `.status.conditions[?(@.type=="Ready")].status`, "True")
	u.Wants("vmimage/ubuntu-24.04", `.status.conditions[?(@.type=="Ready")].status`, "True")

	u.tried(true, nil, "ok       a virtual machine of image VirtualMachineImage/", "with 1 vCPU and 1Gi, is accepted in namespace "+u.Namespace+" (server dry run)\n",
		" was created in zone default after ", "created in vSphere after ", "PoweredOff after ", " was deleted after ")
	u.tried(true, []string{"--image=photon-5", "--instancetype=VirtualMachineInstancetype/small", "--power-on"}, "instance type VirtualMachineInstancetype/small", "PoweredOn after ", " was deleted after ")

	u.tried(false, []string{"--image=nowhere"}, "was not created: ImageReady: ", `VirtualMachineImage "nowhere" does not exist`, "WAITING FOR", "ImageReady=False", "NotFound", "EVENT", " was deleted after ")
	u.Put("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: one}\nspec: {hard: {count/virtualmachines.vm.slipway.dev: \"1\"}}\n")
	u.DeniedAtLast(testenv.InlineVM("second", "photon-5"), "exceeded quota")
	u.tried(false, nil, "MISSING  a virtual machine in namespace "+u.Namespace+" is refused: ", "exceeded quota: one")
	u.Delete("resourcequota/one")
}
