// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

// tried runs virtctl check --try, which must end with success or with 1, and say all of these. It
// must leave no virtual machine behind, and those of others alone.
func (u user) tried(succeeds bool, args []string, says ...string) {
	u.t.Helper()
	out, errOut, err := u.try("", "virtctl", append([]string{"check", "--try"}, args...)...)
	var exit *exec.ExitError
	if succeeds != (err == nil) || err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		u.t.Errorf("virtctl check --try %s ends with %v", strings.Join(args, " "), err)
	}
	holds(u.t, "virtctl check --try "+strings.Join(args, " "), out+errOut, says...)
	u.keepsOnly("mine")
}

// keepsOnly compares the virtual machines of the namespace, as objects and in vSphere.
func (u user) keepsOnly(name string) {
	u.t.Helper()
	if left := strings.Fields(u.kubectl("get", "vm", "-o", "name")); len(left) != 1 || !strings.HasSuffix(left[0], "/"+name) {
		u.t.Errorf("there are %s, want %s alone", left, name)
	}
	for in := range inventory(u.t, u.namespace) {
		if in != name {
			u.t.Errorf("vSphere has %s", in)
		}
	}
}

func TestVirtctlCheckTriesAVirtualMachineAndLeavesNothing(t *testing.T) {
	t.Parallel()
	u := admin(t)
	// One that has the label, too, is somebody else's.
	u.apply(catalogue + strings.Replace(inlineVM("mine", "photon-5", "powerState: PoweredOff"), "{name: mine}", "{name: mine, labels: {app.kubernetes.io/managed-by: virtctl-check}}", 1))
	u.kubectl("wait", "--for=condition=Ready", "vm/mine", "--timeout=90s")
	u.wants("vmimage/photon-5", `.status.conditions[?(@.type=="Ready")].status`, "True")
	u.wants("vmimage/ubuntu-24.04", `.status.conditions[?(@.type=="Ready")].status`, "True")

	u.tried(true, nil, "ok       a virtual machine of image VirtualMachineImage/", "with 1 vCPU and 1Gi, is accepted in namespace "+u.namespace+" (server dry run)\n",
		" is there in zone default, after ", "created in vSphere after ", "PoweredOff after ", " was removed after ")
	u.tried(true, []string{"--image=photon-5", "--instancetype=VirtualMachineInstancetype/small", "--power-on"}, "instance type VirtualMachineInstancetype/small", "PoweredOn after ", " was removed after ")

	u.tried(false, []string{"--image=nowhere"}, "is not made: ImageReady: ", `VirtualMachineImage "nowhere" does not exist`, "WAITS FOR", "ImageReady=False", "NotFound", "EVENT", " was removed after ")
	u.apply("apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: one}\nspec: {hard: {count/virtualmachines.vm.slipway.dev: \"1\"}}\n")
	eventually(t, discovered, "the quota refuses another one", func() error {
		if _, errOut, err := u.try(inlineVM("second", "photon-5"), "kubectl", "create", "--dry-run=server", "-f", "-"); err == nil || !strings.Contains(errOut, "exceeded quota") {
			return errorf("a second one is answered with %v %s", err, errOut)
		}
		return nil
	})
	u.tried(false, nil, "MISSING  a virtual machine in namespace "+u.namespace+" is refused: ", "exceeded quota: one")
	u.kubectl("delete", "resourcequota/one")
}
