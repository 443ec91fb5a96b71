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

	"github.com/slipway-dev/slipway/test/testenv"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// The example uses a class that does not exist at first.
func TestDisks_FollowTheirStorageClasses(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.RemoveAtEnd("storageclass/silver", "storageclass/foreign")
	u.Put(`
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
	u.Put(rest)
	const ready = `.status.conditions[?(@.type=="StorageReady")]`
	u.Wants("vm/database", ready+".message", `StorageClass "silver" does not exist`)
	u.Wants("vm/database", ready+".reason", "NotFound")
	u.Put(class)
	u.Wants("vm/database", ".status.powerState", "PoweredOn")
	u.Wants("vm/database", ready+".status", "True")
	u.Wants("vm/database", ".status.storage.bootDisk.capacity", "20Gi")
	u.Wants("vm/database", `.status.conditions[?(@.type=="StorageCompliant")].status`, "True")
	u.Wants("vm/database", `.status.conditions[?(@.type=="ConfigurationSynced")].reason`, "Succeeded")
	u.Wants("vm/database", `.status.volumes[?(@.name=="data")].storageClass`, "silver")

	for patch, want := range map[string]string{
		`{"spec":{"bootDisk":{"size":"10Gi"}}}`:                      "must not be less than 20Gi, the size of the disk",
		`{"spec":{"volumes":[{"name":"data","unitNumber":3}]}}`:      "is immutable once set; must stay 0",
		`{"spec":{"volumes":[{"name":"media","cdrom":null}]}}`:       "exactly one of these fields must be set: persistentVolumeClaim, disk, cdrom",
		`{"spec":{"bootOrder":[{"type":"Disk","name":"nowhere"}]}}`:  "must be the name of a disk of spec.volumes",
		`{"spec":{"bootDisk":{"size":"20Gi","provisioning":"Fat"}}}`: `supported values: "Thin", "Thick", "ThickEagerZero"`,
	} {
		_, errOut, err := u.Try("", "kubectl", "patch", "vm/database", "--type=strategic", "-p", patch)
		if err == nil || !strings.Contains(errOut, want) {
			t.Errorf("%s: %v %s, want an error with %q", patch, err, errOut, want)
		}
	}
	u.Patch("vm/database", `{"spec":{"bootDisk":{"size":"30Gi"}}}`)
	u.Wants("vm/database", ".status.storage.bootDisk.capacity", "30Gi")
	u.Patch("vm/database", `{"spec":{"storageClass":"foreign"}}`)
	u.Wants("vm/database", ready+".reason", "Invalid")
	u.Wants("vm/database", ".status.powerState", "PoweredOn")
	u.part("discs go in and out of a running VM", func(t *testing.T, u user) { u.changesDiscs(t) })
}

// drive returns the file in the CD-ROM drive of a VM, and whether the drive is connected.
func (u user) drive(vm string) (iso string, connected bool) {
	u.T.Helper()
	have := testenv.Inventory(u.T, u.Namespace)[vm]
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

func (u user) changesDiscs(t *testing.T) {
	disc := u.Namespace[len(u.Namespace)-5:] + "-netinst"
	testenv.WithVCenter(t, func(ctx context.Context, v *govmomi.Client, _ *object.Datastore) {
		have := testenv.Of(t).VCenter()
		if err := vsphereclient.PublishISO(ctx, v.Client, url.UserPassword(have.Username, have.Password), "slipway", disc); err != nil {
			t.Fatal(err)
		}
	})
	u.Put(testenv.Catalogue + fmt.Sprintf(`
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: netinst}
spec:
  contentLibrary: {library: slipway, item: %s}
`, disc) + testenv.VM("web", "volumes: [{name: media, cdrom: {image: {kind: VirtualMachineImage, name: netinst}}}]", "bootOrder: [{type: CDROM}, {type: Disk}]"))
	u.Ready("vm/web")
	if iso, connected := u.drive("web"); !strings.HasSuffix(iso, ".iso") || !connected {
		t.Errorf("the drive has %q, connected %t", iso, connected)
	}
	for media, want := range map[string]string{
		`{"connected":false,"image":{"kind":"VirtualMachineImage","name":"netinst"}}`: "disconnected",
		`{}`: "empty",
	} {
		u.Patch("vm/web", `{"spec":{"volumes":[{"name":"media","cdrom":`+media+`}]}}`)
		testenv.Eventually(t, testenv.Long, "the drive is "+want, func() error {
			if iso, connected := u.drive("web"); connected || (iso == "") != (want == "empty") {
				return fmt.Errorf("it has %q, connected %t", iso, connected)
			}
			return nil
		})
	}
	u.Wants("vm/web", ".status.powerState", "PoweredOn")
	u.Wants("vm/web", ".status.restartRequired", "")
}
