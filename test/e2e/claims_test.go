// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	vimtypes "github.com/vmware/govmomi/vim25/types"
)

func TestClaimIsAttachedBeforePowerOnAndDetachedBeforeTheVMGoes(t *testing.T) {
	t.Parallel()
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

func TestDiskOfAClaimMovesFromVMToVM(t *testing.T) {
	t.Parallel()
	u := admin(t)
	c := newClaim(u, "data")
	u.apply(catalogue + vmManifest("one", withClaim("data", "data")) + vmManifest("two", "powerState: PoweredOff"))
	u.kubectl("wait", "--for=condition=Ready", "vm/one", "--timeout=90s")

	// The second one that asks is told who has it, and does not run without it.
	u.kubectl("patch", "vm/two", "--type=merge", "-p", `{"spec":{"powerState":"PoweredOn","volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data"}}]}}`)
	u.wants("vm/two", volumesReady+"reason", "InUse")
	const says = `is held by VirtualMachine "one"`
	if got := u.get("vm/two", volumesReady+"message"); !strings.Contains(got, says) {
		t.Errorf("condition VolumesReady says %q", got)
	}
	eventually(t, long, "an event names the holder", func() error {
		if got := u.kubectl("get", "events.events.k8s.io", "-o", `jsonpath={.items[?(@.regarding.name=="two")].note}`); !strings.Contains(got, says) {
			return errorf("the events say %s", got)
		}
		return nil
	})
	c.lives("one")
	if got := u.get("vm/two", ".status.powerState"); got != "PoweredOff" {
		t.Errorf("vm/two is %s without its disk", got)
	}

	// What the first one leaves the other one gets, and the first one goes on running.
	u.kubectl("patch", "vm/one", "--type=merge", "-p", `{"spec":{"volumes":null}}`)
	c.at("two")
	u.kubectl("wait", "--for=condition=Ready", "vm/two", "--timeout=90s")
	u.wants("vm/one", ".status.powerState", "PoweredOn")
	u.wants("vm/one", ".status.volumes", "")

	// Back again, by the end of the second.
	u.kubectl("patch", "vm/one", "--type=merge", "-p", `{"spec":{"volumes":[{"name":"again","persistentVolumeClaim":{"claimName":"data"}}]}}`)
	u.wants("vm/one", volumesReady+"reason", "InUse")
	u.kubectl("delete", "vm/two", "--timeout=90s")
	c.at("one")
	u.kubectl("delete", "vm/one", "--timeout=90s")
	c.lives()
	c.free()
}

func TestDiskGrowsWithItsClaim(t *testing.T) {
	t.Parallel()
	u := admin(t)
	c := newClaim(u, "data")
	u.apply(catalogue + vmManifest("web", withClaim("data", "data")))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	u.apply("apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: " + u.namespace + "}\nprovisioner: csi.vsphere.vmware.com\nallowVolumeExpansion: true\n")
	t.Cleanup(func() {
		_, _, _ = run(t, "", "kubectl", "--kubeconfig", u.kubeconfig, "delete", "storageclass/"+u.namespace, "--ignore-not-found")
	})
	c.resize("30Mi")
	u.wants("vm/web", volumeStatus("data", "capacity"), "30Mi")
	if got := c.disk("web").CapacityInBytes; got != 30<<20 {
		t.Errorf("the disk has %d bytes", got)
	}
	u.wants("vm/web", ".status.powerState", "PoweredOn")
	c.lives("web")
}

func TestDeletedNamespaceLeavesTheDisksOfClaims(t *testing.T) {
	t.Parallel()
	u := admin(t)
	c := newClaim(u, "data")
	u.apply(catalogue + vmManifest("web", withClaim("data", "data")))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	u.kubectl("delete", "namespace", u.namespace, "--timeout=110s")
	gone(t, u.namespace)
	c.lives()
}

func TestClaimOnANodeIsNotAttached(t *testing.T) {
	t.Parallel()
	u := admin(t)
	c := newClaim(u, "data")
	attachment := "va-" + u.namespace
	u.apply(fmt.Sprintf(`
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {name: %s}
spec: {attacher: csi.vsphere.vmware.com, nodeName: worker-1, source: {persistentVolumeName: %s}}
`, attachment, c.pv))
	t.Cleanup(func() {
		_, _, _ = run(t, "", "kubectl", "--kubeconfig", u.kubeconfig, "delete", "volumeattachment/"+attachment, "--ignore-not-found")
	})
	u.apply(catalogue + vmManifest("web", withClaim("data", "data")))
	u.wants("vm/web", volumesReady+"reason", "InUse")
	if got := u.get("vm/web", volumesReady+"message"); !strings.Contains(got, `is in use on Node "worker-1"`) {
		t.Errorf("condition VolumesReady says %q", got)
	}
	c.lives()
	u.kubectl("delete", "volumeattachment/"+attachment)
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=90s")
	c.lives("web")
}

// Story 5: the type of a VM is inferred from its volume, and stands in the status.
func TestStoryInstanceTypeIsInferredFromAClaim(t *testing.T) {
	t.Parallel()
	u := admin(t)
	foo, preference := clusterKinds(t, u)
	c := newClaim(u, "data")
	u.kubectl("label", "pvc/data", "instancetype.kubevirt.io/default-instancetype="+foo, "instancetype.kubevirt.io/default-preference="+preference)
	u.apply(catalogue + vmWith("vm", "instancetype: {inferFromVolume: data}", "preference: {inferFromVolume: data}", withClaim("data", "data")))
	u.kubectl("wait", "--for=condition=Ready", "vm/vm", "--timeout=90s")
	u.wants("vm/vm", ".status.instancetypeRef.name", foo)
	u.wants("vm/vm", ".status.instancetypeRef.kind", "virtualmachineclusterinstancetype")
	u.wants("vm/vm", ".status.preferenceRef.name", preference)
	if got := specOf(u, "vm"); got != `{"inferFromVolume":"data"}` {
		t.Errorf("spec.instancetype became %s", got)
	}
	c.lives("vm")
}

// The example is applied as it is. What the CSI driver and the controllers of volumes do
// with its claim, the test does.
func TestTheExampleOfAClaim(t *testing.T) {
	t.Parallel()
	u := admin(t)
	example, err := os.ReadFile("../../artifacts/examples/claim.yaml")
	if err != nil {
		t.Fatal(err)
	}
	u.apply(catalogue + "---\n" + string(example))
	u.wants("vm/db", volumesReady+"reason", "NotReady")
	c := makeVolume(u, "db-data", "ReadWriteOnce")
	u.kubectl("patch", "pvc/db-data", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"volumeName":%q}}`, c.pv))
	c.bind()
	u.kubectl("wait", "--for=condition=Ready", "vm/db", "--timeout=110s")
	u.wants("vm/db", ".status.instancetypeRef.name", "small")
	u.wants("vm/db", volumeStatus("data", "capacity"), "10Gi")
	c.lives("db")
}
