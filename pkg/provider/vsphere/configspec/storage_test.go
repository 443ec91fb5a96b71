// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func bootDiskOf(size string) *vmv1alpha1.VirtualMachineBootDisk {
	return &vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity(size)}
}

func recordKey(vm *mo.VirtualMachine, key, value string) {
	vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
}

func diskOfVM(vm *mo.VirtualMachine, key int32) *types.VirtualDisk {
	for _, d := range vm.Config.Hardware.Device {
		if disk, ok := d.(*types.VirtualDisk); ok && disk.Key == key {
			return disk
		}
	}
	panic("no such disk")
}

// withSnapshot gives a disk a parent.
func withSnapshot(disk *types.VirtualDisk) {
	b := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	b.Parent = &types.VirtualDiskFlatVer2BackingInfo{}
}

// storageCase is a change of a VM with an image disk of 16Gi at scsi0:0 and the volume data of 2Gi at scsi0:1.
type storageCase struct {
	name    string
	change  func(*Desired, *mo.VirtualMachine)
	want    []Difference
	changes []string
	refused []string
	// unapplied are the entries of NotApplied.
	unapplied []string
	// deviates are the deviations for which ConfigurationSynced is False.
	deviates []string
}

// recordedDisk is the difference that records a disk.
var recordedDisk = Difference{Path: "metadata.volumes", Desired: "disk-uuid", Live: true}

func runStorageCases(t *testing.T, cases []storageCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			withDisks(vm)
			w.Effective.Volumes = []vmv1alpha1.VirtualMachineVolume{volume("data", "2Gi", "")}
			tc.change(&w, vm)
			got := Differences(w, vm)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Difference{})); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.changes, changes(Spec(got))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.refused, Refused(w, vm).Invalid); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.unapplied, NotApplied(w, vm)); diff != "" {
				t.Errorf("not applied (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.deviates, Deviations(w, vm)); diff != "" {
				t.Errorf("deviating (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBootDisk_GrowsAndNeverShrinks(t *testing.T) {
	size := func(size string, more ...func(*mo.VirtualMachine)) func(*Desired, *mo.VirtualMachine) {
		return func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.BootDisk = bootDiskOf(size)
			for _, f := range more {
				f(vm)
			}
		}
	}
	another := func(vm *mo.VirtualMachine) {
		vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, diskAt(2003, 1000, 3, 4<<30))
	}
	grown := []Difference{{Path: "bootDisk.size", Running: "16Gi on pvscsi", Desired: "20Gi on pvscsi", Live: true}}
	runStorageCases(t, []storageCase{
		{name: "unchanged", change: size("16Gi")},
		{name: "larger", change: size("20Gi"), want: grown, changes: []string{"edit disk 20Gi at 1000:0 "}},
		{name: "larger than requested", change: size("8Gi"), unapplied: []string{"bootDisk.size 8Gi (the disk has 16Gi, and vSphere cannot shrink disks)"}},
		{name: "larger while there are snapshots", change: size("20Gi", func(vm *mo.VirtualMachine) { withSnapshot(diskOfVM(vm, 2000)) }),
			refused: []string{"bootDisk.size: the disk of 16Gi cannot grow to 20Gi while it has snapshots or is linked to another virtual machine's disk"}},
		{name: "several disks without a recorded boot disk", change: size("20Gi", another),
			refused: []string{"bootDisk: the virtual machine has several disks that are not volumes, so the boot disk cannot be identified"}},
		{name: "the recorded boot disk of several disks", change: size("20Gi", another, func(vm *mo.VirtualMachine) { recordKey(vm, observe.BootDiskKey, "scsi0:0") }),
			want: grown, changes: []string{"edit disk 20Gi at 1000:0 "}},
		{name: "the first of several disks while the VM is being created", change: func(w *Desired, vm *mo.VirtualMachine) {
			size("20Gi", another)(w, vm)
			recordKey(vm, observe.PendingKey, "attempt")
			w.New, w.Attempt = true, "attempt"
		}, want: []Difference{{Path: "metadata.name", Desired: "scsi0:0", Live: true}, grown[0], recordedDisk, recordedDisk, recordedDisk},
			changes: []string{"edit disk 20Gi at 1000:0 ", "slipway.bootDisk=scsi0:0"}},
		{name: "a first class disk is not the boot disk", change: size("20Gi", func(vm *mo.VirtualMachine) { diskOfVM(vm, 2000).VDiskId = &types.ID{Id: "fcd"} }),
			refused: []string{"bootDisk: the virtual machine has no disks other than its volumes"}},
		{name: "on IDE", change: size("20Gi", func(vm *mo.VirtualMachine) {
			ide := &types.VirtualIDEController{}
			ide.Key = 200
			vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, ide)
			diskOfVM(vm, 2000).ControllerKey = 200
		}), want: []Difference{{Path: "bootDisk.size", Running: "16Gi on ide", Desired: "20Gi on ide"}}, changes: []string{"edit disk 20Gi at 200:0 "}},
		{name: "another provisioning", change: func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Provisioning: vmv1alpha1.DiskProvisioningThin}
		}, deviates: []string{"bootDisk.provisioning Thin (the disk is Thick)"}},
	})
}

func TestBootDisk_SmallerThanTheImageIsRefusedBeforeTheCreate(t *testing.T) {
	w := want()
	w.Effective.BootDisk, w.Image = bootDiskOf("8Gi"), &vmv1alpha1.VirtualMachineImage{}
	w.Image.Status.Disks = []vmv1alpha1.VirtualMachineImageDisk{{Capacity: resource.NewQuantity(16<<30, resource.BinarySI)}}
	wantList := []string{"bootDisk.size: 8Gi is less than the 16Gi of the image's disk, and vSphere cannot shrink disks"}
	if diff := cmp.Diff(wantList, Refused(w, &mo.VirtualMachine{}).Invalid); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	w.Image = nil
	if got := Refused(w, &mo.VirtualMachine{}).Invalid; got != nil {
		t.Errorf("refused = %q although the size of the image's disk is not known", got)
	}
}

func TestVolumes_AreAtTheRequestedPosition(t *testing.T) {
	at := func(bus string, number, unit *int32) func(*Desired, *mo.VirtualMachine) {
		return func(w *Desired, _ *mo.VirtualMachine) {
			v := volume("new", "1Gi", bus)
			v.ControllerBusNumber, v.UnitNumber = number, unit
			w.Effective.Volumes = append(w.Effective.Volumes, volume("any", "1Gi", "pvscsi"), v)
		}
	}
	n := ptr[int32]
	anywhere := Difference{Path: "volumes[any]", Desired: "1Gi on pvscsi", Live: true}
	placed := Difference{Path: "volumes[new]", Desired: "1Gi on pvscsi", Live: true}
	runStorageCases(t, []storageCase{
		{name: "a unit that another volume would get", change: at("pvscsi", n(0), n(2)), want: []Difference{anywhere, placed},
			changes: []string{"add disk 1Gi at 1000:3 create", "add disk 1Gi at 1000:2 create", "slipway.volume.any=scsi0:3", "slipway.volume.new=scsi0:2"}},
		{name: "a unit of a new controller", change: at("pvscsi", n(2), n(9)), want: []Difference{anywhere, placed},
			changes: []string{"add disk 1Gi at 1000:2 create", "add *types.ParaVirtualSCSIController -201", "add disk 1Gi at -201:9 create",
				"slipway.volume.any=scsi0:2", "slipway.volume.new=scsi2:9"}},
		{name: "the unit of another disk", change: at("pvscsi", n(0), n(1)), want: []Difference{anywhere},
			changes: []string{"add disk 1Gi at 1000:2 create", "slipway.volume.any=scsi0:2"},
			refused: []string{"volumes[new].unitNumber: scsi0:1 is in use by another device"}},
		{name: "a controller of another kind", change: at("lsilogic", n(0), nil), want: []Difference{anywhere},
			changes: []string{"add disk 1Gi at 1000:2 create", "slipway.volume.any=scsi0:2"},
			refused: []string{"volumes[new].controllerBusNumber: scsi controller 0 is pvscsi, not lsilogic"}},
		{name: "an IDE controller that the VM does not have", change: at("ide", n(1), nil), want: []Difference{anywhere},
			changes: []string{"add disk 1Gi at 1000:2 create", "slipway.volume.any=scsi0:2"},
			refused: []string{"volumes[new].bus: the virtual machine has no free slot on ide"}},
		{name: "an invalid controller number for the preference's bus", change: at("ide", n(3), nil), want: []Difference{anywhere},
			changes: []string{"add disk 1Gi at 1000:2 create", "slipway.volume.any=scsi0:2"},
			refused: []string{"volumes[new].controllerBusNumber: ide has no controller 3; the controllers are 0 to 1"}},
		{name: "an invalid unit number for the preference's bus", change: at("nvme", nil, n(20)), want: []Difference{anywhere},
			changes: []string{"add disk 1Gi at 1000:2 create", "slipway.volume.any=scsi0:2"},
			refused: []string{"volumes[new].unitNumber: 20 cannot be used on nvme, whose units are 0 to 14"}},
		{name: "the position of an existing disk", change: func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Volumes[0].ControllerBusNumber, w.Effective.Volumes[0].UnitNumber = n(1), n(4)
		}, deviates: []string{"volumes[data].controllerBusNumber 1 (the disk is at scsi0:1)", "volumes[data].unitNumber 4 (the disk is at scsi0:1)"}},
		{name: "provisioning", change: func(w *Desired, _ *mo.VirtualMachine) {
			w.Effective.Volumes[0].Disk.Provisioning = vmv1alpha1.DiskProvisioningThickEagerZero
		}, deviates: []string{"volumes[data].disk.provisioning ThickEagerZero (the disk is Thick)"}},
	})
}

func TestVolumes_SetTheProvisioningOfNewDisks(t *testing.T) {
	for want, flags := range map[vmv1alpha1.DiskProvisioning][2]string{
		"": {"true", "unset"}, vmv1alpha1.DiskProvisioningThin: {"true", "unset"},
		vmv1alpha1.DiskProvisioningThick: {"false", "false"}, vmv1alpha1.DiskProvisioningThickEagerZero: {"false", "true"},
	} {
		print := func(b *bool) string {
			switch {
			case b == nil:
				return "unset"
			case *b:
				return "true"
			}
			return "false"
		}
		if thin, scrub := provisioningFlags(want, false); print(thin) != flags[0] || print(scrub) != flags[1] {
			t.Errorf("%q: thin %s, scrubbed %s; want %v", want, print(thin), print(scrub), flags)
		}
	}
	if thin, scrub := provisioningFlags("", true); thin != nil || scrub != nil {
		t.Error("a disk with a storage policy has its own provisioning")
	}
}

func TestVolumes_AreReclaimedAfterTheirRemovalFromTheSpec(t *testing.T) {
	removed := func(reclaim string, more ...func(*mo.VirtualMachine)) func(*Desired, *mo.VirtualMachine) {
		return func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Volumes = nil
			if reclaim != "" {
				recordKey(vm, observe.ReclaimKey("data"), reclaim)
			}
			for _, f := range more {
				f(vm)
			}
		}
	}
	gone := []Difference{{Path: "volumes[data]", Running: "2Gi on pvscsi", Live: true}}
	runStorageCases(t, []storageCase{
		{name: "the reclaim policy is recorded with the disk",
			change: func(w *Desired, _ *mo.VirtualMachine) {
				w.Effective.Volumes[0].ReclaimPolicy = vmv1alpha1.VolumeReclaimDelete
			},
			want: []Difference{{Path: "metadata.volumes", Desired: "Delete disk-uuid", Live: true}}, changes: []string{"slipway.reclaim.data=Delete disk-uuid"}},
		{name: "the reclaim policy does not apply to another disk in the slot", change: func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Volumes[0].ReclaimPolicy = vmv1alpha1.VolumeReclaimDelete
			recordKey(vm, observe.ReclaimKey("data"), "Delete other-uuid")
		}},
		{name: "until the reclaim policy changes", change: func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Volumes[0].ReclaimPolicy = vmv1alpha1.VolumeReclaimDelete
			recordKey(vm, observe.ReclaimKey("data"), "Detach other-uuid")
		}, want: []Difference{{Path: "metadata.volumes", Running: "Detach other-uuid", Desired: "Delete disk-uuid", Live: true}}, changes: []string{"slipway.reclaim.data=Delete disk-uuid"}},
		{name: "the record is removed with the reclaim policy", change: func(_ *Desired, vm *mo.VirtualMachine) { recordKey(vm, observe.ReclaimKey("data"), "Delete disk-uuid") },
			want: []Difference{{Path: "metadata.volumes", Running: "Delete disk-uuid", Live: true}}, changes: []string{"slipway.reclaim.data="}},
		{name: "without a policy it is detached and kept", change: removed(""), want: gone, changes: []string{"remove disk 2Gi at 1000:1 ", "slipway.volume.data="}},
		{name: "detached", change: removed("Detach disk-uuid"), want: gone,
			changes: []string{"remove disk 2Gi at 1000:1 ", "slipway.volume.data=", "slipway.reclaim.data="}},
		{name: "deleted", change: removed("Delete disk-uuid"), want: gone,
			changes: []string{"remove disk 2Gi at 1000:1 destroy", "slipway.volume.data=", "slipway.reclaim.data="}},
		{name: "another disk is in its slot", change: removed("Delete other-uuid"),
			deviates: []string{`volumes[data] (no longer in the spec; reclaimPolicy was set for another disk, so disk "disk-uuid" stays attached: detach it in vSphere, or add the volume again)`}},
		{name: "a record without a disk", change: removed("Delete"),
			deviates: []string{`volumes[data] (no longer in the spec; reclaimPolicy was set for another disk, so disk "disk-uuid" stays attached: detach it in vSphere, or add the volume again)`}},
		{name: "while there are snapshots", change: removed("Delete disk-uuid", func(vm *mo.VirtualMachine) { withSnapshot(diskOfVM(vm, 2001)) }),
			deviates: []string{"volumes[data] (no longer in the spec; the disk stays attached while it has snapshots: after you delete them it is deleted)"}},
		{name: "while there are snapshots, without a policy", change: removed("", func(vm *mo.VirtualMachine) { withSnapshot(diskOfVM(vm, 2001)) }),
			deviates: []string{"volumes[data] (no longer in the spec; the disk stays attached while it has snapshots: after you delete them it is detached)"}},
		{name: "a first class disk in its slot", change: removed("Delete disk-uuid", func(vm *mo.VirtualMachine) { diskOfVM(vm, 2001).VDiskId = &types.ID{Id: "fcd"} })},
		{name: "a shared disk", change: removed("Delete disk-uuid", func(vm *mo.VirtualMachine) {
			diskOfVM(vm, 2001).Backing.(*types.VirtualDiskFlatVer2BackingInfo).Sharing = string(types.VirtualDiskSharingSharingMultiWriter)
		}), deviates: []string{"volumes[data] (no longer in the spec; the disk is a first class disk or shared with other virtual machines and is not deleted: add the volume again with reclaimPolicy Detach)"}},
	})
}

func TestDrives(t *testing.T) {
	drive := func(image, iso string) func(*Desired, *mo.VirtualMachine) {
		return func(w *Desired, _ *mo.VirtualMachine) {
			v := vmv1alpha1.VirtualMachineVolume{Name: "iso", Bus: "sata", CDROM: &vmv1alpha1.CDROMVolumeSource{}}
			if image != "" {
				v.CDROM.Image = &vmv1alpha1.VirtualMachineImageRef{Name: image}
			}
			if iso != "" {
				w.ISOs = map[string]string{"iso": iso}
			}
			w.Effective.Volumes = append(w.Effective.Volumes, v)
		}
	}
	with := func(iso string, connected bool, then func(*Desired, *mo.VirtualMachine)) func(*Desired, *mo.VirtualMachine) {
		return func(w *Desired, vm *mo.VirtualMachine) {
			sata, cdrom := &types.VirtualAHCIController{}, &types.VirtualCdrom{}
			sata.Key, cdrom.Key, cdrom.ControllerKey, cdrom.UnitNumber = 15000, 16000, 15000, ptr[int32](0)
			insert(cdrom, iso, connected)
			vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, sata, cdrom)
			recordKey(vm, observe.DriveKey("iso"), "sata0:0")
			then(w, vm)
		}
	}
	const a, b = "[ds] lib/a.iso", "[ds] lib/b.iso"
	edited := []string{"edit *types.VirtualCdrom 16000"}
	runStorageCases(t, []storageCase{
		{name: "a new drive", change: drive("a", a), want: []Difference{{Path: "volumes[iso]", Desired: "CD-ROM: " + a}},
			changes: []string{"add *types.VirtualAHCIController -201", "add *types.VirtualCdrom -2001", "slipway.cdrom.iso=sata0:0"}},
		{name: "an empty drive", change: drive("", ""), want: []Difference{{Path: "volumes[iso]", Desired: "CD-ROM, empty"}},
			changes: []string{"add *types.VirtualAHCIController -201", "add *types.VirtualCdrom -2001", "slipway.cdrom.iso=sata0:0"}},
		{name: "an image that is not found yet", change: drive("a", ""), unapplied: []string{"volumes[iso].cdrom.image a (its file is not known)"}},
		{name: "unchanged", change: with(a, true, drive("a", a))},
		{name: "an image that is no longer found", change: with(a, true, drive("a", "")), unapplied: []string{"volumes[iso].cdrom.image a (its file is not known)"}},
		{name: "another image", change: with(a, true, drive("b", b)), changes: edited,
			want: []Difference{{Path: "volumes[iso]", Running: "CD-ROM: " + a, Desired: "CD-ROM: " + b, Live: true}}},
		{name: "ejected", change: with(a, true, func(w *Desired, vm *mo.VirtualMachine) {
			drive("a", a)(w, vm)
			w.Effective.Volumes[1].CDROM.Connected = ptr(false)
		}), changes: edited, want: []Difference{{Path: "volumes[iso]", Running: "CD-ROM: " + a, Desired: "CD-ROM, ejected: " + a, Live: true}}},
		{name: "inserted", change: with(a, false, drive("a", a)), changes: edited,
			want: []Difference{{Path: "volumes[iso]", Running: "CD-ROM, ejected: " + a, Desired: "CD-ROM: " + a, Live: true}}},
		{name: "emptied", change: with(a, true, drive("", "")), changes: edited,
			want: []Difference{{Path: "volumes[iso]", Running: "CD-ROM: " + a, Desired: "CD-ROM, empty", Live: true}}},
		{name: "removed", change: with(a, true, func(*Desired, *mo.VirtualMachine) {}),
			want: []Difference{{Path: "volumes[iso]", Running: "CD-ROM: " + a}}, changes: []string{"remove *types.VirtualCdrom 16000", "slipway.cdrom.iso="}},
	})
}

func TestBootOrder_ContainsDeviceKeys(t *testing.T) {
	order := func(devices ...vmv1alpha1.VirtualMachineBootDevice) func(*Desired, *mo.VirtualMachine) {
		return func(w *Desired, _ *mo.VirtualMachine) { w.Effective.BootOrder = devices }
	}
	all := []vmv1alpha1.VirtualMachineBootDevice{{Type: "CDROM"}, {Type: "Disk"}, {Type: "Disk", Name: "data"}, {Type: "Network", Name: "eth0"}}
	const printed = "CDROM, Disk 2000, Disk 2001, Network 4000"
	runStorageCases(t, []storageCase{
		{name: "devices of all kinds", change: order(all...), want: []Difference{{Path: "bootOrder", Desired: printed}}},
		{name: "unchanged", change: func(w *Desired, vm *mo.VirtualMachine) {
			order(all...)(w, vm)
			devices, _ := bootDevices(newInput(*w, vm))
			vm.Config.BootOptions = &types.VirtualMachineBootOptions{BootOrder: devices}
		}},
		{name: "no order keeps the existing one", change: func(_ *Desired, vm *mo.VirtualMachine) {
			vm.Config.BootOptions = &types.VirtualMachineBootOptions{BootOrder: []types.BaseVirtualMachineBootOptionsBootableDevice{&types.VirtualMachineBootOptionsBootableCdromDevice{}}}
		}},
		{name: "a disk that does not exist yet is first", change: func(w *Desired, vm *mo.VirtualMachine) {
			w.Effective.Volumes = append(w.Effective.Volumes, volume("new", "1Gi", ""))
			order(vmv1alpha1.VirtualMachineBootDevice{Type: "Disk", Name: "new"})(w, vm)
		}, want: []Difference{{Path: "volumes[new]", Desired: "1Gi on pvscsi", Live: true}},
			changes:  []string{"add disk 1Gi at 1000:2 create", "slipway.volume.new=scsi0:2"},
			deviates: []string{"bootOrder (the virtual machine has no Disk new)"}},
	})
	w, vm := want(), have()
	withDisks(vm)
	w.Effective.BootOrder, w.Effective.Firmware = all, &vmv1alpha1.VirtualMachineFirmware{SecureBoot: ptr(true)}
	if spec := Spec(Differences(w, vm)); len(spec.BootOptions.BootOrder) != 4 || !isTrue(spec.BootOptions.EfiSecureBootEnabled) {
		t.Errorf("boot options %+v, want the order and secure boot", spec.BootOptions)
	}
}
