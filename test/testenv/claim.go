// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

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

// Claim is a PersistentVolumeClaim with the volume that the vSphere CSI driver would have created for it. The test
// binds them, because no controller of the environment does.
type Claim struct {
	u User
	// Name is the name of the claim, and PV is the name of its volume.
	Name, PV string
	// ID is the ID of the first class disk, and mark is the data written on it.
	ID, mark string
}

// ClaimDatastore is the datastore of the claims' disks.
const ClaimDatastore = "LocalDS_0"

// NewClaim creates a claim with its volume and disk, and binds them.
func NewClaim(u User, name string, modes ...string) *Claim {
	u.T.Helper()
	c := MakeClaim(u, name, modes...)
	c.Bind()
	return c
}

// MakeClaim creates a disk, a volume and a claim with the access modes.
func MakeClaim(u User, name string, modes ...string) *Claim {
	u.T.Helper()
	if len(modes) == 0 {
		modes = []string{"ReadWriteOnce"}
	}
	c := MakeVolume(u, name, modes...)
	u.Put(c.manifest(modes))
	return c
}

// MakeVolume creates a disk of 10 MiB with a mark on it, and a volume for the claim of that name.
func MakeVolume(u User, name string, modes ...string) *Claim {
	u.T.Helper()
	c := &Claim{u: u, Name: name, PV: "pvc-" + rand.String(10), mark: "mark of " + u.Namespace + "/" + name}
	WithVCenter(u.T, func(ctx context.Context, v *govmomi.Client, ds *object.Datastore) {
		c.ID = NewDisk(ctx, u.T, v, ds)
		if err := ds.Upload(ctx, strings.NewReader(c.mark), c.file(), &soap.DefaultUpload); err != nil {
			u.T.Fatalf("writing a mark on disk %s: %v", c.ID, err)
		}
	})
	u.Put(c.volumeManifest(modes))
	u.RemoveAtEnd("pv/" + c.PV)
	return c
}

// Bind binds the claim, as the management cluster's volume controller does.
func (c *Claim) Bind() {
	c.u.T.Helper()
	c.u.Patch("pv/"+c.PV, fmt.Sprintf(`{"spec":{"claimRef":{"uid":%q}}}`, c.u.Get("pvc/"+c.Name, ".metadata.uid")))
	c.u.Patch("pv/"+c.PV, `{"status":{"phase":"Bound"}}`, "status")
	c.u.Patch("pvc/"+c.Name, `{"status":{"phase":"Bound","capacity":{"storage":"10Mi"}}}`, "status")
}

// volumeManifest returns a volume as the CSI driver creates it. It has the policy Retain, in case a driver is
// installed.
func (c *Claim) volumeManifest(modes []string) string {
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
`, c.PV, strings.Join(modes, ", "), c.u.Namespace, c.Name, c.ID)
}

func (c *Claim) manifest(modes []string) string {
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
`, c.Name, strings.Join(modes, ", "), c.u.Namespace, c.PV)
}

// file returns the path of the file with the disk's content.
func (c *Claim) file() string { return "fcd/" + c.ID + "-flat.vmdk" }

// WithVCenter logs in to the vCenter as its administrator.
func WithVCenter(t *testing.T, do func(context.Context, *govmomi.Client, *object.Datastore)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), Short)
	defer cancel()
	client := VCenterClient(ctx, t)
	defer func() { _ = client.Logout(ctx) }()
	finder := find.NewFinder(client.Client)
	dc, err := finder.DefaultDatacenter(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ds, err := finder.SetDatacenter(dc).Datastore(ctx, ClaimDatastore)
	if err != nil {
		t.Fatal(err)
	}
	ds.DatacenterPath = dc.InventoryPath
	do(ctx, client, ds)
}

// NewDisk creates a first class disk that is deleted with the VM that it is attached to. Slipway must not rely on the
// option that keeps disks.
func NewDisk(ctx context.Context, t *testing.T, c *govmomi.Client, ds *object.Datastore) string {
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

// Lives fails the test unless the disk has its mark and is attached to exactly these VMs.
func (c *Claim) Lives(at ...string) {
	c.u.T.Helper()
	if err := c.check(at...); err != nil {
		c.u.T.Errorf("the disk of claim %s: %v", c.Name, err)
	}
}

func (c *Claim) check(at ...string) (err error) {
	c.u.T.Helper()
	WithVCenter(c.u.T, func(ctx context.Context, v *govmomi.Client, ds *object.Datastore) {
		content, _, derr := ds.Download(ctx, c.file(), &soap.DefaultDownload)
		if derr != nil {
			err = fmt.Errorf("it does not exist: %w", derr)
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
			This: *v.ServiceContent.VStorageObjectManager, Id: vimtypes.ID{Id: c.ID}, Datastore: ds.Reference()}); err != nil {
			err = fmt.Errorf("vCenter does not know it any more: %w", err)
		}
	})
	if err != nil {
		return err
	}
	var have []string
	for name, vm := range Inventory(c.u.T, c.u.Namespace) {
		if vm.Config != nil && diskOf(vm.Config.Hardware.Device, c.ID) != nil {
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

// At waits until the disk is attached to the VMs.
func (c *Claim) At(vms ...string) {
	c.u.T.Helper()
	Eventually(c.u.T, Long, fmt.Sprintf("the disk of claim %s is at %q", c.Name, vms), func() error { return c.check(vms...) })
}

// Disk returns the device of the claim in the VM.
func (c *Claim) Disk(vm string) *vimtypes.VirtualDisk {
	c.u.T.Helper()
	found := Inventory(c.u.T, c.u.Namespace)[vm]
	if found.Config == nil {
		c.u.T.Fatalf("the vCenter has no VM %s", vm)
	}
	return diskOf(found.Config.Hardware.Device, c.ID)
}

func diskOf(devices []vimtypes.BaseVirtualDevice, id string) *vimtypes.VirtualDisk {
	for _, d := range devices {
		if disk, ok := d.(*vimtypes.VirtualDisk); ok && disk.VDiskId != nil && disk.VDiskId.Id == id {
			return disk
		}
	}
	return nil
}

// Free waits until no VM holds the claim.
func (c *Claim) Free() {
	c.u.T.Helper()
	Eventually(c.u.T, Long, "no VM holds claim  "+c.Name, func() error {
		if got := c.u.Get("pvc/"+c.Name, ".metadata.finalizers") + c.u.Get("pvc/"+c.Name, ".metadata.annotations"); strings.Contains(got, "vm.slipway.dev") {
			return fmt.Errorf("it has %s", got)
		}
		return nil
	})
}

// Resize requests a larger claim, as its StorageClass allows.
func (c *Claim) Resize(size string) {
	c.u.T.Helper()
	c.u.Patch("pvc/"+c.Name, fmt.Sprintf(`{"spec":{"resources":{"requests":{"storage":%q}}}}`, size))
}

// WithClaim returns the line of a spec with one volume of a claim.
func WithClaim(volume, claim string) string {
	return fmt.Sprintf("volumes: [{name: %s, persistentVolumeClaim: {claimName: %s}}]", volume, claim)
}

// VolumeStatus returns the JSONPath of a field in the status of a volume.
func VolumeStatus(volume, field string) string {
	return fmt.Sprintf(`.status.volumes[?(@.name==%q)].%s`, volume, field)
}

// VolumesReady is the prefix of JSONPaths of that condition.
const VolumesReady = `.status.conditions[?(@.type=="VolumesReady")].`
