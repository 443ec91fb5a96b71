// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	vimtypes "github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/testenv"
)

// The disk of one claim is moved between VMs, grows, is in use elsewhere, and is kept when the namespace is deleted.
func TestClaim_IsAtOneVMAtATime(t *testing.T) {
	t.Parallel()
	u := admin(t)
	c := testenv.MakeClaim(u.User, "data")
	u.Put(testenv.Catalogue + testenv.VM("one", testenv.WithClaim("data", "data")) + testenv.VM("two", testenv.WithClaim("data", "data")) + testenv.VM("three", testenv.WithClaim("data", "data")))
	for _, vm := range []string{"one", "two", "three"} {
		u.Wants("vm/"+vm, testenv.VolumesReady+"reason", "NotReady")
	}
	u.Put(fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: %[1]s}
spec: {attacher: csi.vsphere.vmware.com, nodeName: worker-1, source: {persistentVolumeName: %[2]s}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: %[1]s}
provisioner: csi.vsphere.vmware.com
allowVolumeExpansion: true
`, u.Namespace, c.PV))
	u.RemoveAtEnd("volumeattachment/"+u.Namespace, "storageclass/"+u.Namespace)
	c.Bind()
	u.inUse("one", `is in use on Node "worker-1"`)
	c.Lives()
	u.Delete("volumeattachment/" + u.Namespace)

	t.Log("three VMs request it at the same time, and one gets it")
	left := []string{"one", "two", "three"}
	holder := u.holderOf(left)
	u.attached(c, holder)
	for _, vm := range others(left, holder) {
		u.inUse(vm, fmt.Sprintf("is held by VirtualMachine %q", holder))
		if got := u.Get("vm/"+vm, ".status.powerState"); got == "PoweredOn" {
			t.Errorf("vm/%s is %s without its disk", vm, got)
		}
	}
	testenv.Eventually(t, testenv.Long, "events report the holder", func() error {
		if got := u.Get("events.events.k8s.io", ".items[*].note"); !strings.Contains(got, fmt.Sprintf("is held by VirtualMachine %q", holder)) {
			return fmt.Errorf("the events are %s", got)
		}
		return nil
	})

	t.Log("it grows while the VM runs")
	c.Resize("30Mi")
	u.Wants("vm/"+holder, testenv.VolumeStatus("data", "capacity"), "30Mi")
	if got := c.Disk(holder).CapacityInBytes; got != 30<<20 {
		t.Errorf("the disk has %d bytes", got)
	}
	u.Wants("vm/"+holder, ".status.powerState", "PoweredOn")
	c.Lives(holder)

	t.Log("a running VM releases it, and so does a deleted VM")
	u.Patch("vm/"+holder, `{"spec":{"volumes":null}}`)
	next := u.holderOf(others(left, holder))
	c.At(next)
	u.Ready("vm/" + next)
	u.Wants("vm/"+holder, ".status.powerState", "PoweredOn")
	u.Wants("vm/"+holder, ".status.volumes", "")
	u.Delete("vm/" + next)
	last := others(left, holder, next)[0]
	c.At(last)

	t.Log("the deletion of a claim waits for its VM")
	u.Remove("pvc/data")
	u.Ready("vm/" + last)
	u.Delete("vm/" + last)
	u.Wants("pvc/data", ".metadata.name", "")
	c.Lives()
}

func others(all []string, but ...string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(but, name) })
}

// holderOf waits until one of the VMs has the claim, and returns its name.
func (u user) holderOf(of []string) (holder string) {
	u.T.Helper()
	testenv.Eventually(u.T, testenv.Long, fmt.Sprintf("one of %q has the claim", of), func() error {
		var holders []string
		for _, vm := range of {
			if u.Get("vm/"+vm, testenv.VolumeStatus("data", "attached")) == "true" {
				holders = append(holders, vm)
			}
		}
		if len(holders) != 1 {
			return fmt.Errorf("the disk is at %q", holders)
		}
		holder = holders[0]
		return nil
	})
	return holder
}

// inUse waits until a VM reports why its claim is not attached.
func (u user) inUse(vm, why string) {
	u.T.Helper()
	u.Wants("vm/"+vm, testenv.VolumesReady+"reason", "InUse")
	testenv.Eventually(u.T, testenv.Long, vm+" reports the owner of the claim", func() error {
		if got := u.Get("vm/"+vm, testenv.VolumesReady+"message"); !strings.Contains(got, why) {
			return fmt.Errorf("the message of condition VolumesReady is %q", got)
		}
		return nil
	})
}

// attached checks that the disk of a claim is attached to a VM as its status reports.
func (u user) attached(c *testenv.Claim, vm string) {
	u.T.Helper()
	u.Ready("vm/" + vm)
	c.Lives(vm)
	u.Wants("vm/"+vm, testenv.VolumesReady+"status", "True")
	for field, want := range map[string]string{"attached": "true", "claimName": "data", "volumeID": c.ID} {
		u.Wants("vm/"+vm, testenv.VolumeStatus("data", field), want)
	}
	backing, ok := c.Disk(vm).Backing.(*vimtypes.VirtualDiskFlatVer2BackingInfo)
	if !ok || backing.Uuid == "" {
		u.T.Fatalf("the disk has backing %+v", c.Disk(vm).Backing)
	}
	u.Wants("vm/"+vm, testenv.VolumeStatus("data", "diskUUID"), backing.Uuid)
	if got := u.Get("pvc/data", ".metadata.finalizers"); !strings.Contains(got, "vm.slipway.dev/claim-in-use") {
		u.T.Errorf("the claim has finalizers %s", got)
	}
}

func TestNamespace_DeletionKeepsTheDisksOfClaims(t *testing.T) {
	t.Parallel()
	u := admin(t)
	nowhere := u
	nowhere.Namespace = "nowhere-at-all"
	nowhere.Denied(testenv.VM("web"), `namespaces "nowhere-at-all" not found`)
	c := testenv.NewClaim(u.User, "data")
	u.Put(testenv.Catalogue + testenv.VM("a", testenv.WithClaim("data", "data")) + testenv.VM("b") + testenv.VM("c"))
	u.Ready("vm/a", "vm/b", "vm/c")
	u.Put("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: stays, finalizers: [slipway.example/test]}\n")
	u.T.Cleanup(func() { _ = u.TryPatch("configmap/stays", `{"metadata":{"finalizers":null}}`) })
	u.Remove("namespace/" + u.Namespace)
	u.DeniedAtLast(testenv.VM("web"), "because it is being terminated")
	u.Patch("configmap/stays", `{"metadata":{"finalizers":null}}`)
	u.Wants("namespace/"+u.Namespace, ".metadata.name", "")
	testenv.Gone(t, u.Namespace)
	c.Lives()
}
