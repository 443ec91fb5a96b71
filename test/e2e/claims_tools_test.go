// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/rand"
)

// claim is a PersistentVolumeClaim with the volume that the vSphere CSI driver would have
// made for it. They are bound by the test, as no controller of the environment does it.
type claim struct {
	t *testing.T
	u user
	// name of the claim, pv of its volume.
	name, pv string
	// id of the first class disk, and what was written on it.
	id, mark string
}

// claimDatastore has the disks of claims.
const claimDatastore = "LocalDS_0"

// newClaim makes a claim with its volume and disk, and binds them.
func newClaim(u user, name string, modes ...string) *claim {
	u.t.Helper()
	c := makeClaim(u, name, modes...)
	c.bind()
	return c
}

// makeClaim makes a disk, a volume and a claim with the access modes.
func makeClaim(u user, name string, modes ...string) *claim {
	u.t.Helper()
	if len(modes) == 0 {
		modes = []string{"ReadWriteOnce"}
	}
	c := makeVolume(u, name, modes...)
	u.apply(c.manifest(modes))
	return c
}

// makeVolume makes a disk of 10 MiB with a mark on it, and a volume for the claim of that
// name.
func makeVolume(u user, name string, modes ...string) *claim {
	u.t.Helper()
	c := &claim{t: u.t, u: u, name: name, pv: "pvc-" + rand.String(10), mark: "mark of " + u.namespace + "/" + name}
	withVCenter(u.t, func(ctx context.Context, v *govmomi.Client, ds *object.Datastore) {
		c.id = newDisk(ctx, u.t, v, ds)
		if err := ds.Upload(ctx, strings.NewReader(c.mark), c.file(), &soap.DefaultUpload); err != nil {
			u.t.Fatalf("writing a mark on disk %s: %v", c.id, err)
		}
	})
	u.apply(c.volumeManifest(modes))
	u.t.Cleanup(func() {
		_, _, _ = run(u.t, "", "kubectl", "--kubeconfig", u.kubeconfig, "delete", "pv/"+c.pv, "--ignore-not-found", "--wait=false")
	})
	return c
}

// bind does what the host cluster's controller of volumes does.
func (c *claim) bind() {
	c.t.Helper()
	c.u.kubectl("patch", "pv/"+c.pv, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"claimRef":{"uid":%q}}}`, c.u.get("pvc/"+c.name, ".metadata.uid")))
	c.u.kubectl("patch", "pv/"+c.pv, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Bound"}}`)
	c.u.kubectl("patch", "pvc/"+c.name, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Bound","capacity":{"storage":"10Mi"}}}`)
}

// volumeManifest is as the CSI driver makes it, with Retain in case a driver is there.
func (c *claim) volumeManifest(modes []string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s}
spec:
  accessModes: [%[2]s]
  capacity: {storage: 10Mi}
  persistentVolumeReclaimPolicy: Retain
  storageClassName: %[3]s
  volumeMode: Block
  claimRef: {namespace: %[3]s, name: %[4]s}
  csi: {driver: csi.vsphere.vmware.com, volumeHandle: "%[5]s"}
`, c.pv, strings.Join(modes, ", "), c.u.namespace, c.name, c.id)
}

func (c *claim) manifest(modes []string) string {
	return fmt.Sprintf(`
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: %s}
spec:
  accessModes: [%s]
  storageClassName: %s
  volumeMode: Block
  volumeName: %s
  resources: {requests: {storage: 10Mi}}
`, c.name, strings.Join(modes, ", "), c.u.namespace, c.pv)
}

// file is that of the content of the disk.
func (c *claim) file() string { return "fcd/" + c.id + "-flat.vmdk" }

// withVCenter logs in as a person would.
func withVCenter(t *testing.T, do func(context.Context, *govmomi.Client, *object.Datastore)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), short)
	defer cancel()
	client := vcenterClient(ctx, t)
	defer func() { _ = client.Logout(ctx) }()
	finder := find.NewFinder(client.Client)
	dc, err := finder.DefaultDatacenter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ds, err := finder.SetDatacenter(dc).Datastore(ctx, claimDatastore)
	if err != nil {
		t.Fatal(err)
	}
	ds.DatacenterPath = dc.InventoryPath
	do(ctx, client, ds)
}

// newDisk makes a first class disk that does not survive the VM that it is attached to:
// the product must not rely on the mark that keeps others.
func newDisk(ctx context.Context, t *testing.T, c *govmomi.Client, ds *object.Datastore) string {
	t.Helper()
	res, err := methods.CreateDisk_Task(ctx, c, &vimtypes.CreateDisk_Task{This: *c.ServiceContent.VStorageObjectManager, Spec: vimtypes.VslmCreateSpec{
		Name: "pvc", CapacityInMB: 10, KeepAfterDeleteVm: vimtypes.NewBool(false),
		BackingSpec: &vimtypes.VslmCreateSpecDiskFileBackingSpec{VslmCreateSpecBackingSpec: vimtypes.VslmCreateSpecBackingSpec{Datastore: ds.Reference()}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	info, err := object.NewTask(c.Client, res.Returnval).WaitForResult(ctx)
	if err != nil {
		t.Fatal(err)
	}
	made, ok := info.Result.(vimtypes.VStorageObject)
	if !ok {
		t.Fatalf("made a %T", info.Result)
	}
	return made.Config.Id.Id
}

// lives fails the test unless the disk has its mark and is at the VMs, by name, and
// nowhere else.
func (c *claim) lives(at ...string) {
	c.t.Helper()
	if err := c.check(at...); err != nil {
		c.t.Errorf("the disk of claim %s: %v", c.name, err)
	}
}

func (c *claim) check(at ...string) (err error) {
	c.t.Helper()
	withVCenter(c.t, func(ctx context.Context, v *govmomi.Client, ds *object.Datastore) {
		content, _, derr := ds.Download(ctx, c.file(), &soap.DefaultDownload)
		if derr != nil {
			err = fmt.Errorf("it is gone: %w", derr)
			return
		}
		defer func() { _ = content.Close() }()
		var got bytes.Buffer
		if _, err = io.Copy(&got, content); err != nil {
			return
		}
		if !strings.HasPrefix(got.String(), c.mark) {
			err = fmt.Errorf("it has not the mark %q, but %.60q", c.mark, got.String())
			return
		}
		if _, err = methods.RetrieveVStorageObject(ctx, v, &vimtypes.RetrieveVStorageObject{
			This: *v.ServiceContent.VStorageObjectManager, Id: vimtypes.ID{Id: c.id}, Datastore: ds.Reference()}); err != nil {
			err = fmt.Errorf("vCenter does not know it any more: %w", err)
		}
	})
	if err != nil {
		return err
	}
	var have []string
	for name, vm := range inventory(c.t, c.u.namespace) {
		if vm.Config != nil && diskOf(vm.Config.Hardware.Device, c.id) != nil {
			have = append(have, name)
		}
	}
	slices.Sort(have)
	slices.Sort(at)
	if !slices.Equal(have, at) {
		return fmt.Errorf("it is attached to %q, want %q", have, at)
	}
	return nil
}

// at waits until the disk is at the VMs.
func (c *claim) at(vms ...string) {
	c.t.Helper()
	eventually(c.t, long, fmt.Sprintf("the disk of claim %s is at %q", c.name, vms), func() error { return c.check(vms...) })
}

// disk is the device that the VM has of the claim.
func (c *claim) disk(vm string) *vimtypes.VirtualDisk {
	c.t.Helper()
	found := inventory(c.t, c.u.namespace)[vm]
	if found.Config == nil {
		c.t.Fatalf("the vCenter has no VM %s", vm)
	}
	return diskOf(found.Config.Hardware.Device, c.id)
}

func diskOf(devices []vimtypes.BaseVirtualDevice, id string) *vimtypes.VirtualDisk {
	for _, d := range devices {
		if disk, ok := d.(*vimtypes.VirtualDisk); ok && disk.VDiskId != nil && disk.VDiskId.Id == id {
			return disk
		}
	}
	return nil
}

// free waits until nobody holds the claim.
func (c *claim) free() {
	c.t.Helper()
	eventually(c.t, long, "nobody holds claim "+c.name, func() error {
		if got := c.u.get("pvc/"+c.name, ".metadata.finalizers") + c.u.get("pvc/"+c.name, ".metadata.annotations"); strings.Contains(got, "vm.slipway.dev") {
			return errorf("it has %s", got)
		}
		return nil
	})
}

// resize asks for a larger claim, as its StorageClass lets.
func (c *claim) resize(size string) {
	c.t.Helper()
	c.u.kubectl("patch", "pvc/"+c.name, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, size))
}

// withClaim is the line of a spec with one volume of a claim.
func withClaim(volume, claim string) string {
	return fmt.Sprintf("volumes: [{name: %s, persistentVolumeClaim: {claimName: %s}}]", volume, claim)
}
