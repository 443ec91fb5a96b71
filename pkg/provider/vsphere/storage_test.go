// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// isSynced reports whether the VM runs and its configuration is synchronized.
func isSynced(req *provider.Request) func() bool {
	return func() bool {
		return reason(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == "True Succeeded" && isRunning(req)()
	}
}

func bootDiskCapacity(req *provider.Request) string {
	if s := req.VM.Status.Storage; s != nil && s.BootDisk != nil {
		return s.BootDisk.Capacity.String()
	}
	return ""
}

func TestBootDisk_GrowsAtCreationAndLive(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, image := range map[string]*vmv1alpha1.VirtualMachineImage{"library": libraryImage(), "clone": templateImage()} {
		t.Run(name, func(t *testing.T) {
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := newRequest("boot-"+name, image)
			req.Effective.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: ptr(resource.MustParse("20Gi")), Provisioning: vmv1alpha1.DiskProvisioningThickEagerZero}
			req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{disk("data", "2Gi", "")}
			l.until("the VM runs", isSynced(req), req)
			if got := bootDiskCapacity(req); got != "20Gi" {
				t.Errorf("the boot disk was created with %s, want 20Gi", got)
			}
			if got := message(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced); got != "" {
				t.Errorf("not applied: %s", got)
			}
			checkNoOperation(t, p, req)
			req.Effective.BootDisk.Capacity = ptr(resource.MustParse("30Gi"))
			l.until("the boot disk has grown", func() bool { return bootDiskCapacity(req) == "30Gi" && isSynced(req)() }, req)
			if got := devicesOf(t, ready, "boot-"+name); got["disk 30Gi"] != 1 || got["disk 2Gi"] != 1 || got["disk 20Gi"] != 0 {
				t.Errorf("devices = %v, want one disk of 30Gi and the volume of 2Gi", got)
			}
			checkNoOperation(t, p, req)

			req.Effective.BootDisk.Capacity = ptr(resource.MustParse("10Gi"))
			const want = "not applied: bootDisk.size 10Gi (the disk has 30Gi, and vSphere cannot shrink disks)"
			l.until("the larger disk satisfies the request", func() bool {
				return isSynced(req)() && message(&req.VM.Status, vmv1alpha1.ConditionConfigurationSynced) == want
			}, req)
		})
	}
}

func TestBootDisk_MustNotBeSmallerThanTheImage(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	req := newRequest("small", libraryImage())
	req.Image.Status.Disks = []vmv1alpha1.VirtualMachineImageDisk{{Capacity: ptr(resource.MustParse("16Gi"))}}
	req.Effective.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: ptr(resource.MustParse("8Gi"))}
	eventually(t, "the VM is refused", func() bool {
		req.Now = time.Now()
		_, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
		return provider.IsNoRequeue(err)
	})
	const want = "bootDisk.size: 8Gi is less than the 16Gi of the image's disk, and vSphere cannot shrink disks"
	if got := message(&req.VM.Status, vmv1alpha1.ConditionCreated); got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if vms := inVCenter(t, ready); len(vms) != 0 {
		t.Errorf("vCenter has %d VMs, want none", len(vms))
	}
}

// slotsOf returns the slots of a VM's disks by size.
func slotsOf(t *testing.T, ready vcenter.Ready, name string) map[string][2]int32 {
	t.Helper()
	vm := inVCenter(t, ready)["team-a/"+name]
	buses := map[int32]int32{}
	for _, d := range vm.Config.Hardware.Device {
		if c, ok := d.(vimtypes.BaseVirtualController); ok {
			buses[d.GetVirtualDevice().Key] = c.GetVirtualController().BusNumber
		}
	}
	out := map[string][2]int32{}
	for _, d := range vm.Config.Hardware.Device {
		if disk, ok := d.(*vimtypes.VirtualDisk); ok {
			out[resource.NewQuantity(disk.CapacityInKB<<10, resource.BinarySI).String()] = [2]int32{buses[disk.ControllerKey], *disk.UnitNumber}
		}
	}
	return out
}

func TestDisks_HaveTheirSlotsAndReclaimPolicies(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("places", libraryImage())
	at := func(v vmv1alpha1.VirtualMachineVolume, number, unit int32, reclaim vmv1alpha1.VolumeReclaimPolicy) vmv1alpha1.VirtualMachineVolume {
		v.ControllerBusNumber, v.UnitNumber, v.ReclaimPolicy = &number, &unit, reclaim
		return v
	}
	req.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{
		disk("kept", "2Gi", ""), at(disk("deleted", "3Gi", "pvscsi"), 0, 5, vmv1alpha1.VolumeReclaimDelete),
		at(disk("detached", "4Gi", "pvscsi"), 2, 9, vmv1alpha1.VolumeReclaimDetach),
	}
	l.until("the VM runs", isSynced(req), req)
	if got := slotsOf(t, ready, "places"); got["3Gi"] != [2]int32{0, 5} || got["4Gi"] != [2]int32{2, 9} {
		t.Errorf("the disks have slots %v, want 3Gi at 0:5 and 4Gi at 2:9", got)
	}
	files := filesOf(t, ready, "places")
	checkNoOperation(t, p, req)

	req.Effective.Volumes = req.Effective.Volumes[:0]
	l.until("the disks are detached", func() bool { return isSynced(req)() && len(req.VM.Status.Volumes) == 0 }, req)
	if req.VM.Status.PowerState != vmv1alpha1.PoweredOn {
		t.Errorf("the VM is %s, want it running throughout", req.VM.Status.PowerState)
	}
	checkNoOperation(t, p, req)
	want := map[string]bool{"2Gi": true, "3Gi": false, "4Gi": true}
	got := map[string]bool{}
	for size := range want {
		got[size] = fileExists(t, ready, files[size])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("remaining files (-want +got):\n%s", diff)
	}
}

// filesOf returns the files of a VM's disks by size.
func filesOf(t *testing.T, ready vcenter.Ready, name string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, d := range inVCenter(t, ready)["team-a/"+name].Config.Hardware.Device {
		if disk, ok := d.(*vimtypes.VirtualDisk); ok {
			out[resource.NewQuantity(disk.CapacityInKB<<10, resource.BinarySI).String()] = disk.Backing.(*vimtypes.VirtualDiskFlatVer2BackingInfo).FileName
		}
	}
	return out
}

// fileExists reports whether a file exists on a datastore.
func fileExists(t *testing.T, ready vcenter.Ready, file string) bool {
	t.Helper()
	var p object.DatastorePath
	if !p.FromString(file) {
		t.Fatalf("%q is not a datastore path", file)
	}
	ds, err := find.NewFinder(admin(t, ready).Client).Datastore(t.Context(), "/DC0/datastore/"+p.Datastore)
	if err != nil {
		t.Fatal(err)
	}
	_, err = ds.Stat(t.Context(), p.Path)
	return err == nil
}
