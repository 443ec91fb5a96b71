// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

func dataDisk(change func(*vmv1alpha1.VirtualMachineVolume)) vmv1alpha1.VirtualMachineVolume {
	v := vmv1alpha1.VirtualMachineVolume{Name: "data", Disk: &vmv1alpha1.DiskVolumeSource{Capacity: quantity("10Gi")}}
	change(&v)
	return v
}

func drive(change func(*vmv1alpha1.VirtualMachineVolume)) vmv1alpha1.VirtualMachineVolume {
	v := vmv1alpha1.VirtualMachineVolume{Name: "iso", CDROM: &vmv1alpha1.CDROMVolumeSource{
		Image: &vmv1alpha1.VirtualMachineImageRef{Kind: "VirtualMachineImage", Name: "installer"}}}
	change(&v)
	return v
}

func TestValidateVirtualMachineSpec_ChecksVolumeSlots(t *testing.T) {
	const at = "spec.volumes[0]"
	place := func(bus string, number, unit *int32) func(*vmv1alpha1.VirtualMachineSpec) {
		return volumes(dataDisk(func(v *vmv1alpha1.VirtualMachineVolume) {
			v.Bus, v.ControllerBusNumber, v.UnitNumber = bus, number, unit
		}))
	}
	two := func(a, b string) func(*vmv1alpha1.VirtualMachineSpec) {
		return volumes(
			dataDisk(func(v *vmv1alpha1.VirtualMachineVolume) {
				v.Bus, v.ControllerBusNumber, v.UnitNumber = a, ptr.To[int32](0), ptr.To[int32](1)
			}),
			dataDisk(func(v *vmv1alpha1.VirtualMachineVolume) {
				v.Name, v.Bus, v.ControllerBusNumber, v.UnitNumber = "more", b, ptr.To[int32](0), ptr.To[int32](1)
			}))
	}
	n := ptr.To[int32]
	runSpecCases(t, []specCase{
		{"a slot", place("pvscsi", n(3), n(64)), nil},
		{"a unit of any controller", place("sata", nil, n(29)), nil},
		{"any unit of a controller", place("nvme", n(3), nil), nil},
		{"an SATA unit without a bus", place("", nil, n(29)), nil},
		{"a pvscsi unit without a bus", place("", nil, n(64)), nil},
		{"the reserved unit of a SCSI controller", place("lsilogic", nil, n(7)), []string{"Invalid " + at + ".unitNumber"}},
		{"unit 7 of other buses", place("nvme", nil, n(7)), nil},
		{"the reserved unit of a paravirtual SCSI controller", place("pvscsi", nil, n(7)), []string{"Invalid " + at + ".unitNumber"}},
		{"a unit beyond paravirtual SCSI", place("virtio", nil, n(65)), []string{"Invalid " + at + ".unitNumber"}},
		{"a unit that only paravirtual SCSI supports", place("lsilogicsas", nil, n(16)), []string{"Invalid " + at + ".unitNumber"}},
		{"a unit beyond NVMe", place("nvme", nil, n(15)), []string{"Invalid " + at + ".unitNumber"}},
		{"a unit beyond IDE", place("ide", nil, n(2)), []string{"Invalid " + at + ".unitNumber"}},
		{"a unit beyond all buses", place("", nil, n(65)), []string{"Invalid " + at + ".unitNumber"}},
		{"a negative unit", place("sata", nil, n(-1)), []string{"Invalid " + at + ".unitNumber"}},
		{"a fifth controller", place("sata", n(4), nil), []string{"Invalid " + at + ".controllerBusNumber"}},
		{"a third IDE controller", place("ide", n(2), nil), []string{"Invalid " + at + ".controllerBusNumber"}},
		{"a negative controller", place("ide", n(-1), nil), []string{"Invalid " + at + ".controllerBusNumber"}},
		{"two volumes in one slot", two("sata", "sata"), []string{"Invalid spec.volumes[1].unitNumber"}},
		{"two volumes in one slot of two types of SCSI", two("pvscsi", "lsilogicsas"), []string{"Invalid spec.volumes[1].unitNumber"}},
		{"the same slot of two buses", two("nvme", "sata"), nil},
	})
}

func TestValidateVirtualMachineSpec_ChecksDrivesAndDisks(t *testing.T) {
	const at = "spec.volumes[0]"
	boot := func(d vmv1alpha1.VirtualMachineBootDisk) func(*vmv1alpha1.VirtualMachineSpec) {
		return func(s *vmv1alpha1.VirtualMachineSpec) { s.BootDisk = &d }
	}
	runSpecCases(t, []specCase{
		{"a drive", volumes(drive(func(*vmv1alpha1.VirtualMachineVolume) {})), nil},
		{"an empty drive", volumes(drive(func(v *vmv1alpha1.VirtualMachineVolume) { v.CDROM.Image, v.Bus = nil, "ide" })), nil},
		{"a drive on SCSI", volumes(drive(func(v *vmv1alpha1.VirtualMachineVolume) { v.Bus = "pvscsi" })), []string{"NotSupported " + at + ".bus"}},
		{"an image without name", volumes(drive(func(v *vmv1alpha1.VirtualMachineVolume) { v.CDROM.Image.Name = "" })), []string{"Required " + at + ".cdrom.image.name"}},
		{"a virtual machine in a drive", volumes(drive(func(v *vmv1alpha1.VirtualMachineVolume) { v.CDROM.Image.Kind = "VirtualMachine" })), []string{"NotSupported " + at + ".cdrom.image.kind"}},
		{"a snapshot in a drive", volumes(drive(func(v *vmv1alpha1.VirtualMachineVolume) { v.CDROM.Image.Snapshot = "a" })), []string{"Forbidden " + at + ".cdrom.image.snapshot"}},
		{"an image of another kind", volumes(drive(func(v *vmv1alpha1.VirtualMachineVolume) { v.CDROM.Image.Kind = "Disc" })), []string{"NotSupported " + at + ".cdrom.image.kind"}},
		{"a reclaim policy of a drive", volumes(drive(func(v *vmv1alpha1.VirtualMachineVolume) { v.ReclaimPolicy = vmv1alpha1.VolumeReclaimDetach })),
			[]string{"Forbidden " + at + ".reclaimPolicy"}},
		{"a reclaim policy of a disk", volumes(dataDisk(func(v *vmv1alpha1.VirtualMachineVolume) { v.ReclaimPolicy = vmv1alpha1.VolumeReclaimDelete })), nil},
		{"an unknown reclaim policy", volumes(dataDisk(func(v *vmv1alpha1.VirtualMachineVolume) { v.ReclaimPolicy = "Retain" })), []string{"NotSupported " + at + ".reclaimPolicy"}},
		{"an unknown provisioning", volumes(dataDisk(func(v *vmv1alpha1.VirtualMachineVolume) { v.Disk.Provisioning = "Sparse" })), []string{"NotSupported " + at + ".disk.provisioning"}},
		{"a boot disk", boot(vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity("20Gi"), StorageClass: "fast", Provisioning: vmv1alpha1.DiskProvisioningThick}), nil},
		{"a boot disk of size 0", boot(vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity("0")}), []string{"Invalid spec.bootDisk.size"}},
		{"a boot disk of a fraction of a mebibyte", boot(vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity("1500Ki")}), []string{"Invalid spec.bootDisk.size"}},
		{"a boot disk beyond vSphere's largest", boot(vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity("63Ti")}), []string{"Invalid spec.bootDisk.size"}},
		{"a boot disk with an invalid class name", boot(vmv1alpha1.VirtualMachineBootDisk{StorageClass: "Fast Disks"}), []string{"Invalid spec.bootDisk.storageClass"}},
		{"a boot disk with an unknown provisioning", boot(vmv1alpha1.VirtualMachineBootDisk{Provisioning: "thin"}), []string{"NotSupported spec.bootDisk.provisioning"}},
	})
}

func TestValidateVirtualMachineSpec_ChecksBootOrder(t *testing.T) {
	order := func(devices ...vmv1alpha1.VirtualMachineBootDevice) func(*vmv1alpha1.VirtualMachineSpec) {
		return func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Volumes = []vmv1alpha1.VirtualMachineVolume{dataDisk(func(*vmv1alpha1.VirtualMachineVolume) {}), drive(func(*vmv1alpha1.VirtualMachineVolume) {})}
			s.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0"}}}
			s.BootOrder = devices
		}
	}
	device := func(kind vmv1alpha1.BootDeviceType, name string) vmv1alpha1.VirtualMachineBootDevice {
		return vmv1alpha1.VirtualMachineBootDevice{Type: kind, Name: name}
	}
	const disk, cdrom, network = vmv1alpha1.BootDeviceDisk, vmv1alpha1.BootDeviceCDROM, vmv1alpha1.BootDeviceNetwork
	runSpecCases(t, []specCase{
		{"all types", order(device(cdrom, ""), device(disk, ""), device(disk, "data"), device(network, "eth0")), nil},
		{"no type", order(device("", "data")), []string{"Required spec.bootOrder[0].type"}},
		{"an unknown type", order(device("Floppy", "")), []string{"NotSupported spec.bootOrder[0].type"}},
		{"an unknown disk", order(device(disk, "gone")), []string{"Invalid spec.bootOrder[0].name"}},
		{"a drive as a disk", order(device(disk, "iso")), []string{"Invalid spec.bootOrder[0].name"}},
		{"a drive by name", order(device(cdrom, "iso")), []string{"Forbidden spec.bootOrder[0].name"}},
		{"an unknown interface", order(device(network, "eth1")), []string{"Invalid spec.bootOrder[0].name"}},
		{"an interface without name", order(device(network, "")), []string{"Invalid spec.bootOrder[0].name"}},
		{"a duplicate device", order(device(disk, ""), device(cdrom, ""), device(disk, "")), []string{"Duplicate spec.bootOrder[2]"}},
	})
}

func TestValidateVirtualMachineUpdate_RejectsShrinkingAndMovingDisks(t *testing.T) {
	vm := func(boot, data, has string, change func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
		return inlineVM(func(o *vmv1alpha1.VirtualMachine) {
			o.Spec.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{Capacity: quantity(boot)}
			o.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{dataDisk(func(v *vmv1alpha1.VirtualMachineVolume) { v.Disk.Capacity = quantity(data) })}
			if has != "" {
				o.Status.Storage = &vmv1alpha1.VirtualMachineStorageStatus{BootDisk: &vmv1alpha1.VirtualMachineBootDiskStatus{Capacity: quantity(has)}}
				o.Status.Volumes = []vmv1alpha1.VirtualMachineVolumeStatus{{Name: "data", Capacity: quantity(has)}}
			}
			if change != nil {
				change(o)
			}
		})
	}
	pinned := func(number, unit int32) func(*vmv1alpha1.VirtualMachine) {
		return func(o *vmv1alpha1.VirtualMachine) {
			o.Spec.Volumes[0].ControllerBusNumber, o.Spec.Volumes[0].UnitNumber = &number, &unit
		}
	}
	const boot, data = "Invalid spec.bootDisk.size", "Invalid spec.volumes[0].disk.size"
	for _, tc := range []struct {
		name     string
		old, new *vmv1alpha1.VirtualMachine
		want     []string
	}{
		{"growth", vm("10Gi", "10Gi", "10Gi", nil), vm("20Gi", "20Gi", "", nil), nil},
		{"below the size of the disks", vm("10Gi", "10Gi", "10Gi", nil), vm("9Gi", "9Gi", "", nil), []string{boot, data}},
		{"below the requested size while the size of the disks is unknown", vm("10Gi", "10Gi", "", nil), vm("9Gi", "9Gi", "", nil), []string{boot, data}},
		{"an increase that did not take effect is reverted", vm("20Ti", "20Ti", "10Gi", nil), vm("10Gi", "11Gi", "", nil), nil},
		{"a first size, below the size of the disk", vm("10Gi", "10Gi", "10Gi", func(o *vmv1alpha1.VirtualMachine) { o.Spec.BootDisk = nil }),
			vm("9Gi", "10Gi", "", nil), []string{boot}},
		{"an unchanged size below the size of the disk", vm("5Gi", "5Gi", "10Gi", nil),
			vm("5Gi", "5Gi", "", func(o *vmv1alpha1.VirtualMachine) { o.Spec.CPU.Sockets = 4 }), nil},
		{"another slot", vm("1Gi", "1Gi", "", pinned(0, 1)), vm("1Gi", "1Gi", "", pinned(1, 2)),
			[]string{"Invalid spec.volumes[0].controllerBusNumber", "Invalid spec.volumes[0].unitNumber"}},
		{"a first slot", vm("1Gi", "1Gi", "", nil), vm("1Gi", "1Gi", "", pinned(1, 2)), nil},
		{"a removed slot", vm("1Gi", "1Gi", "", pinned(0, 1)), vm("1Gi", "1Gi", "", nil),
			[]string{"Invalid spec.volumes[0].controllerBusNumber", "Invalid spec.volumes[0].unitNumber"}},
		{"another provisioning",
			vm("1Gi", "1Gi", "", func(o *vmv1alpha1.VirtualMachine) {
				o.Spec.BootDisk.Provisioning, o.Spec.Volumes[0].Disk.Provisioning = "Thin", "Thin"
			}),
			vm("1Gi", "1Gi", "", func(o *vmv1alpha1.VirtualMachine) { o.Spec.BootDisk.Provisioning = "Thick" }),
			[]string{"Invalid spec.bootDisk.provisioning", "Invalid spec.volumes[0].disk.provisioning"}},
		{"a disk that becomes a drive", vm("1Gi", "1Gi", "", nil), vm("1Gi", "1Gi", "", func(o *vmv1alpha1.VirtualMachine) {
			o.Spec.Volumes[0].Disk, o.Spec.Volumes[0].CDROM = nil, &vmv1alpha1.CDROMVolumeSource{}
		}), []string{"Forbidden spec.volumes[0]"}},
	} {
		t.Run(tc.name, func(t *testing.T) { check(t, tc.want, ValidateVirtualMachineUpdate(tc.new, tc.old)) })
	}
	errs := ValidateVirtualMachineUpdate(vm("9Gi", "10Gi", "", nil), vm("10Gi", "10Gi", "12Gi", nil))
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "9Gi") || !strings.Contains(errs[0].Error(), "12Gi") {
		t.Errorf("got errors %v, want one that contains both sizes, 9Gi and 12Gi", errs)
	}
}
