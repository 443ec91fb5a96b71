// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tryVM is the label of what virtctl check --try makes.
const tryVM = "app.kubernetes.io/managed-by=virtctl-check"

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
	another(t) // vCenter is told to be slow
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

	u.interrupted()
}

// interrupted ends the program while vCenter is making the virtual machine.
func (u user) interrupted() {
	u.t.Helper()
	orderVCenter(u.t, http.MethodPut, "/taskdelay?method=CreateVm&ms=10000")
	u.t.Cleanup(func() { orderVCenter(u.t, http.MethodPut, "/taskdelay?method=CreateVm&ms=0") })
	ctx, cancel := context.WithTimeout(u.t.Context(), long)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, "virtctl"), "--kubeconfig", u.kubeconfig, "--namespace", u.namespace, "check", "--try", "--image=photon-5")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		u.t.Fatal(err)
	}
	eventually(u.t, short, "the virtual machine is being made", func() error {
		if got := u.kubectl("get", "vm", "-l", tryVM, "-o", `jsonpath={.items[*].status.conditions[?(@.type=="Created")].reason}`); !strings.Contains(got, "Creating") {
			return errorf("Created has the reasons %s", got)
		}
		return nil
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		u.t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		u.t.Errorf("it ends with %v", err)
	}
	holds(u.t, "virtctl check --try that is interrupted", out.String(), "is not made (interrupted): ", "is removed first", " was removed after ")
	u.keepsOnly("mine")
}
