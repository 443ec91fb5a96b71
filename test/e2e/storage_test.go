// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// The example names a class that does not exist at first.
func TestDisksAreKeptByTheirStorageClasses(t *testing.T) {
	t.Parallel()
	clusterObjects(t, "storageclass/silver", "storageclass/foreign")
	u := admin(t)
	u.apply(`
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: foreign}
provisioner: ebs.csi.aws.com
`)
	content, err := os.ReadFile("../../artifacts/examples/storage.yaml")
	if err != nil {
		t.Fatal(err)
	}
	class, rest, ok := strings.Cut(strings.ReplaceAll(string(content), "  namespace: default\n", ""), "\n---\n")
	if !ok {
		t.Fatal("the example has no class")
	}
	u.apply(rest)
	const ready = `.status.conditions[?(@.type=="StorageReady")]`
	u.wants("vm/database", ready+".message", `StorageClass "silver" does not exist`)
	u.wants("vm/database", ready+".reason", "NotFound")
	u.apply(class)
	u.wants("vm/database", ".status.powerState", "PoweredOn")
	u.wants("vm/database", ready+".status", "True")
	u.wants("vm/database", ".status.storage.bootDisk.capacity", "20Gi")
	u.wants("vm/database", `.status.conditions[?(@.type=="StorageCompliant")].status`, "True")
	u.wants("vm/database", `.status.conditions[?(@.type=="ConfigurationSynced")].reason`, "Succeeded")
	u.wants("vm/database", `.status.volumes[?(@.name=="data")].storageClass`, "silver")

	for patch, want := range map[string]string{
		`{"spec":{"bootDisk":{"size":"10Gi"}}}`:                      "is less than the 20Gi of the disk",
		`{"spec":{"volumes":[{"name":"data","unitNumber":3}]}}`:      "is immutable once set; must stay 0",
		`{"spec":{"volumes":[{"name":"media","cdrom":null}]}}`:       "exactly one must be set of persistentVolumeClaim, disk, cdrom",
		`{"spec":{"bootOrder":[{"type":"Disk","name":"nowhere"}]}}`:  "must be the name of a disk of spec.volumes",
		`{"spec":{"bootDisk":{"size":"20Gi","provisioning":"Fat"}}}`: `supported values: "Thin", "Thick", "ThickEagerZero"`,
	} {
		_, errOut, err := u.try("", "kubectl", "patch", "vm/database", "--type=strategic", "-p", patch)
		if err == nil || !strings.Contains(errOut, want) {
			t.Errorf("%s: %v %s, want it refused with %q", patch, err, errOut, want)
		}
	}
	u.kubectl("patch", "vm/database", "--type=merge", "-p", `{"spec":{"bootDisk":{"size":"30Gi"}}}`)
	u.wants("vm/database", ".status.storage.bootDisk.capacity", "30Gi")
	u.kubectl("patch", "vm/database", "--type=merge", "-p", `{"spec":{"storageClass":"foreign"}}`)
	u.wants("vm/database", ready+".reason", "Invalid")
	u.wants("vm/database", ".status.powerState", "PoweredOn")
}

// drive is the file in the CD-ROM drive of a VM, and whether it is connected.
func (u user) drive(vm string) (iso string, connected bool) {
	u.t.Helper()
	have := inventory(u.t, u.namespace)[vm]
	if have.Config == nil {
		return "", false
	}
	for _, d := range have.Config.Hardware.Device {
		if drive, ok := d.(*vimtypes.VirtualCdrom); ok {
			if b, ok := drive.Backing.(*vimtypes.VirtualCdromIsoBackingInfo); ok {
				iso = b.FileName
			}
			return iso, drive.Connectable != nil && drive.Connectable.StartConnected
		}
	}
	return "", false
}

func TestDiscsGoInAndOutOfTheDriveOfARunningVM(t *testing.T) {
	u := admin(t)
	disc := u.namespace[len(u.namespace)-5:] + "-netinst"
	withVCenter(t, func(ctx context.Context, v *govmomi.Client, _ *object.Datastore) {
		have := environment(t).VCenter()
		if err := vsphereclient.PublishISO(ctx, v.Client, url.UserPassword(have.Username, have.Password), "slipway", disc); err != nil {
			t.Fatal(err)
		}
	})
	u.apply(catalogue + fmt.Sprintf(`
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: netinst}
spec:
  contentLibrary: {library: slipway, item: %s}
`, disc) + vmManifest("web", "volumes: [{name: media, cdrom: {image: {kind: VirtualMachineImage, name: netinst}}}]", "bootOrder: [{type: CDROM}, {type: Disk}]"))
	u.kubectl("wait", "--for=condition=Ready", "vm/web", "--timeout=110s")
	if iso, connected := u.drive("web"); !strings.HasSuffix(iso, ".iso") || !connected {
		t.Errorf("the drive has %q, connected %t", iso, connected)
	}
	for media, want := range map[string]string{
		`{"connected":false,"image":{"kind":"VirtualMachineImage","name":"netinst"}}`: "disconnected",
		`{}`: "empty",
	} {
		u.kubectl("patch", "vm/web", "--type=merge", "-p", `{"spec":{"volumes":[{"name":"media","cdrom":`+media+`}]}}`)
		eventually(t, long, "the drive is "+want, func() error {
			if iso, connected := u.drive("web"); connected || (iso == "") != (want == "empty") {
				return errorf("it has %q, connected %t", iso, connected)
			}
			return nil
		})
	}
	u.wants("vm/web", ".status.powerState", "PoweredOn")
	u.wants("vm/web", ".status.restartRequired", "")
}
