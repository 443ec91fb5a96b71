// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/pkg/apis/vm/orphans"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/store/maintenance"
	"github.com/slipway-dev/slipway/test/testenv"
)

// forbidden checks that a virtctl command is rejected with the text.
func (u user) forbidden(text string, args ...string) {
	u.T.Helper()
	if out, errOut, err := u.Try("", "virtctl", args...); err == nil || !strings.Contains(errOut, text) {
		u.T.Errorf("virtctl %s: %v %s%s, want an error with %q", strings.Join(args, " "), err, out, errOut, text)
	}
}

// atLast waits until a virtctl command is permitted, and returns its output.
func (u user) atLast(args ...string) (out string) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Short, "virtctl "+strings.Join(args, " ")+" is allowed", func() error {
		var errOut string
		var err error
		if out, errOut, err = u.Try("", "virtctl", args...); err != nil {
			return fmt.Errorf("%s%s", out, errOut)
		}
		return nil
	})
	return out
}

// The test uses one VM of a user with the ClusterRole edit, and grants further permissions step by step. F156 is the
// last step: the permission to refresh, which edit does not include.
func TestAccess_FollowsRolesOfTheManagementCluster(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.Put(testenv.Catalogue)
	alice := u.editor("alice-" + u.Namespace)
	name := "alice-" + u.Namespace
	alice.Put(testenv.VM("hers"))
	u.Ready("vm/hers")
	part := func(what string, tell func(t *testing.T, u, alice user)) {
		u.part(what, func(t *testing.T, u user) {
			alice := alice
			alice.T = t
			tell(t, u, alice)
		})
	}
	part("edited", func(t *testing.T, _, alice user) {
		if err := alice.TryPatch("vm/hers", `{"status":{"powerState":"PoweredOff"}}`, "status"); err == nil || !strings.Contains(err.Error(), "virtualmachines/status") {
			t.Errorf("writing status: %v, want it forbidden", err)
		}
		alice.Patch("vm/hers", `{"status":{"printableStatus":"Hacked"}}`)
		if got := alice.Get("vm/hers", ".status.printableStatus"); got == "Hacked" {
			t.Error("a status write through the main resource was stored")
		}
		alice.PatchDenied("vmimage/photon-5", `{"metadata":{"labels":{"a":"b"}}}`, "forbidden", "virtualmachineimages")
		alice.PatchDenied("vm/hers", `{"metadata":{"annotations":{"vmoperator.vmware.com.protected/reconcile-priority":"100"}}}`, "reconcile-priority")
	})
	part("refreshed", func(_ *testing.T, u, alice user) {
		alice.forbidden("virtualmachines/refresh-instancetype", "refresh", "instancetype", "hers")
		u.Grant(name, "slipway-refresh")
		alice.atLast("refresh", "instancetype", "hers")
	})
	part("its console", func(t *testing.T, u, alice user) { u.consoles(t, alice, name) })
	part("copied", func(t *testing.T, u, _ user) { u.copyingRequiresUpdate(t, "creator-"+u.Namespace) })
	part("named by a Machine", func(t *testing.T, u, _ user) { u.machinesRequireDelete("machinist-" + u.Namespace) })
	part("held by annotations", func(t *testing.T, u, alice user) { u.heldByAnnotations(t, alice) })
	part("saved with the store", func(t *testing.T, u, alice user) {
		file := filepath.Join(t.TempDir(), "slipway.db")
		alice.forbidden("backups.vm.slipway.dev is forbidden", "backup", file)
		u.Kubectl("create", "clusterrolebinding", u.Namespace, "--clusterrole=slipway-backup", "--user="+name)
		u.RemoveAtEnd("clusterrolebinding/" + u.Namespace)
		alice.atLast("backup", file)
		content, err := maintenance.CheckSnapshot(file, false)
		if err != nil || content.Keys == 0 {
			t.Errorf("the backup has %+v, %v", content, err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("the file: %v, %v; want that only the owner can read it", info.Mode(), err)
		}
	})
	part("left in vSphere", func(t *testing.T, u, alice user) { u.orphansAreReported(t, alice) })
}

// consoles checks that consoles and screenshots each need their own permission.
func (u user) consoles(t *testing.T, alice user, name string) {
	alice.forbidden("virtualmachines/console", "console", "hers")
	alice.forbidden("virtualmachines/screenshot", "screenshot", "hers", "-o", "-")
	u.Grant(name, "slipway-console")
	var got vmv1alpha1.VirtualMachineConsole
	if err := json.Unmarshal([]byte(alice.atLast("console", "hers", "-o", "json")), &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Status; s.Ticket == "" || s.URL != "wss://"+s.Host+":443/ticket/"+s.Ticket || s.SSLThumbprintSHA256 == "" ||
		strings.Contains(s.RemoteConsoleURL, s.Ticket) || s.Host != u.Get("vm/hers", ".status.nodeName") {
		t.Errorf("the console has host %q, port %d, link %q, thumbprint %q, URL with ticket %t", s.Host, s.Port, s.RemoteConsoleURL, s.SSLThumbprintSHA256,
			s.Ticket != "" && strings.HasSuffix(s.URL, s.Ticket))
	}
	again := alice.Virtctl("console", "hers")
	if strings.Contains(again, got.Status.Ticket) || !strings.Contains(again, "wss://"+got.Status.Host) {
		t.Errorf("a second console has the ticket of the first, or no URL")
	}
	if strings.Contains(u.Get("vm/hers", "@"), got.Status.Ticket) {
		t.Error("the ticket is stored")
	}
	file := filepath.Join(t.TempDir(), "a.png")
	alice.Virtctl("screenshot", "hers", "-o", file)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw := alice.Kubectl("get", "--raw", "/apis/vm.slipway.dev/v1alpha1/namespaces/"+u.Namespace+"/virtualmachines/hers/screenshot")
	for by, picture := range map[string][]byte{"virtctl": data, "kubectl": []byte(raw)} {
		if _, err := png.Decode(bytes.NewReader(picture)); err != nil {
			t.Errorf("%s returned %d bytes that are not a PNG: %v", by, len(picture), err)
		}
	}
}

// copyingRequiresUpdate checks that only users who can update a VM can copy it. The permission to create VMs does not
// reveal the disks of other users' VMs.
func (u user) copyingRequiresUpdate(t *testing.T, creator string) {
	u.Allow(creator, "creator", "{apiGroups: [vm.slipway.dev], resources: [virtualmachines, virtualmachinepublishrequests], verbs: [create]}")
	clone := testenv.Manifest("vm", "VirtualMachine", "clone", "cpu: {sockets: 1}", "memory: {guest: 1Gi}", "image: {kind: VirtualMachine, name: hers}")
	request := testenv.Manifest("vm", "VirtualMachinePublishRequest", "hers", "target: {contentLibrary: none}")
	as := u.As(creator)
	for _, manifest := range []string{clone, request} {
		as.DeniedAtLast(manifest, `copying VirtualMachine "hers" requires permission to update it`)
	}
	u.Allow(creator, "updater", "{apiGroups: [vm.slipway.dev], resources: [virtualmachines], resourceNames: [hers], verbs: [update]}")
	for _, manifest := range []string{clone, request} {
		testenv.Eventually(t, testenv.Long, "a user who can update it can copy it", func() error { return as.TryCreate(manifest) })
	}
}

// machinesRequireDelete checks that a Machine can refer to a VM only if its author can delete the VM, because deleting the
// Machine deletes the VM.
func (u user) machinesRequireDelete(machinist string) {
	u.Allow(machinist, "machinist", "{apiGroups: [cluster.slipway.dev], resources: [machines], verbs: [create]}")
	machine := testenv.Manifest("cluster", "Machine", "thief", "clusterName: shop", "bootstrap: {dataSecretName: user-data}",
		"infrastructureRef: {apiGroup: vm.slipway.dev, kind: VirtualMachine, name: hers}")
	as := u.As(machinist)
	as.DeniedAtLast(machine, "spec.infrastructureRef: this reference requires permission to update virtualmachines.vm.slipway.dev hers")
	u.Allow(machinist, "owner", "{apiGroups: [vm.slipway.dev], resources: [virtualmachines], verbs: [update, delete]}")
	testenv.Eventually(u.T, testenv.Short, "a user who can delete the virtual machine can refer to it", func() error { return as.TryCreate(machine) })
}

// heldByAnnotations tests the annotations that block power-on and deletion.
func (u user) heldByAnnotations(t *testing.T, alice user) {
	const powerOn, remove = "poweron.check.vm.slipway.dev/cmdb", "delete.check.vm.slipway.dev/backup"
	alice.Put(strings.Replace(testenv.VM("held"), "{name: held}", "{name: held, annotations: {"+powerOn+": not registered yet}}", 1))
	const status = `.status.conditions[?(@.type=="PowerStateSynced")].`
	u.Wants("vm/held", status+"reason", "HeldByCheck")
	testenv.Holds(t, "the condition", u.Get("vm/held", status+"message"), powerOn+" (not registered yet)")
	u.Wants("vm/held", ".status.printableStatus", "PowerStateHeldByCheck")
	alice.PatchDenied("vm/held", `{"metadata":{"annotations":{"`+powerOn+`":null}}}`, "only privileged users", powerOn)
	alice.PatchDenied("vm/held", `{"metadata":{"annotations":{"`+remove+`":"mine"}}}`, "only privileged users", remove)
	u.Wants("vm/held", ".status.powerState", "PoweredOff")
	u.Annotate("vm/held", powerOn+"-", remove+"=the nightly copy runs")
	u.Ready("vm/held")

	alice.Remove("vm/held")
	u.Wants("vm/held", ".status.printableStatus", "DeletionHeldByCheck")
	testenv.Holds(t, "the condition", u.Get("vm/held", `.status.conditions[?(@.type=="Ready")].message`), remove+" (the nightly copy runs)")
	u.Wants("vm/held", ".status.powerState", "PoweredOn")
	u.Annotate("vm/held", remove+"-")
	u.Wants("vm/held", ".metadata.name", "")
}

// orphansAreReported checks that a user cannot remove the finalizer, and that the server reports a VM in vSphere
// without an object. S8
func (u user) orphansAreReported(t *testing.T, alice user) {
	left := func() []orphans.Orphan {
		t.Helper()
		var report orphans.Report
		if err := json.Unmarshal([]byte(u.Virtctl("orphans", "-o", "json")), &report); err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(report.Orphans, func(o orphans.Orphan) bool { return o.Namespace != u.Namespace })
	}
	if got := left(); len(got) != 0 {
		t.Errorf("orphans while the object exists: %+v, want none", got)
	}
	alice.Annotate("vm/hers", "vm.slipway.dev/paused=")
	alice.Remove("vm/hers")
	alice.PatchDenied("vm/hers", `{"metadata":{"finalizers":null}}`, "forbidden", "metadata.finalizers[vm.slipway.dev/virtualmachine]")
	alice.forbidden("orphans.vm.slipway.dev is forbidden", "orphans")
	u.Annotate("vm/hers", "vm.slipway.dev.protected/skip-delete-platform-resource=", "vm.slipway.dev/paused-")
	u.Wants("vm/hers", ".metadata.name", "")
	testenv.Eventually(t, testenv.Short, "the VM is reported", func() error {
		if got := left(); len(got) != 1 || got[0].Name != "hers" || got[0].VSphereName != "hers" || got[0].UniqueID == "" {
			return fmt.Errorf("orphans: %+v", got)
		}
		return nil
	})
	testenv.Holds(t, "virtctl orphans", u.Virtctl("orphans"), "NAMESPACE", u.Namespace)
	if _, there := testenv.Inventory(t, u.Namespace)["hers"]; !there {
		t.Error("the orphan was destroyed")
	}
}
