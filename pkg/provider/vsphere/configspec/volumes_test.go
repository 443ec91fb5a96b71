// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	apilimits "github.com/slipway-dev/slipway/pkg/apis/limits"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

func volume(name, size, bus string) vmv1alpha1.VirtualMachineVolume {
	return vmv1alpha1.VirtualMachineVolume{Name: name, Bus: bus, Disk: &vmv1alpha1.DiskVolumeSource{Capacity: quantity(size)}}
}

// withDisks adds a paravirtual controller with the image's disk and the disk of a volume named data, of 2Gi.
func withDisks(vm *mo.VirtualMachine) {
	scsi := &types.ParaVirtualSCSIController{}
	scsi.Key = 1000
	vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, scsi, diskAt(2000, 1000, 0, 16<<30), diskAt(2001, 1000, 1, 2<<30))
	vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: observe.VolumeKey("data"), Value: "scsi0:1"},
		&types.OptionValue{Key: observe.VolumeKey("gone"), Value: "scsi0:9"})
}

func diskAt(key, controller, unit int32, size int64) *types.VirtualDisk {
	d := &types.VirtualDisk{CapacityInBytes: size, CapacityInKB: size >> 10}
	d.Key, d.ControllerKey, d.UnitNumber = key, controller, &unit
	d.Backing = &types.VirtualDiskFlatVer2BackingInfo{Uuid: "disk-uuid"}
	return d
}

// changes formats device changes and recorded slots. TestRecordDisks checks the disk records.
func changes(spec types.VirtualMachineConfigSpec) []string {
	var out []string
	for _, c := range spec.DeviceChange {
		d := c.GetVirtualDeviceConfigSpec()
		v := d.Device.GetVirtualDevice()
		s := fmt.Sprintf("%s %T %d", d.Operation, d.Device, v.Key)
		if disk, ok := d.Device.(*types.VirtualDisk); ok {
			s = fmt.Sprintf("%s disk %dGi at %d:%d %s", d.Operation, disk.CapacityInBytes>>30, v.ControllerKey, *v.UnitNumber, d.FileOperation)
		}
		out = append(out, s)
	}
	for _, o := range spec.ExtraConfig {
		if strings.HasPrefix(o.GetOptionValue().Key, observe.DiskKey("")) {
			continue
		}
		out = append(out, fmt.Sprintf("%s=%v", o.GetOptionValue().Key, o.GetOptionValue().Value))
	}
	return out
}

func TestVolumes_BecomeDisks(t *testing.T) {
	for _, tc := range []struct {
		name    string
		volumes []vmv1alpha1.VirtualMachineVolume
		devices *vmv1alpha1.VirtualMachineDevices
		want    []Difference
		changes []string
	}{
		{name: "already attached", volumes: []vmv1alpha1.VirtualMachineVolume{volume("data", "2Gi", "")}},
		{name: "removed in vSphere", volumes: []vmv1alpha1.VirtualMachineVolume{volume("gone", "2Gi", "")}},
		{name: "larger", volumes: []vmv1alpha1.VirtualMachineVolume{volume("data", "3Gi", "")},
			want:    []Difference{{Path: "volumes[data]", Running: "2Gi on pvscsi", Desired: "3Gi on pvscsi", Live: true}},
			changes: []string{"edit disk 3Gi at 1000:1 "}},
		{name: "a smaller size is ignored", volumes: []vmv1alpha1.VirtualMachineVolume{volume("data", "1Gi", "")}},
		{name: "next to a disk that is not a volume", volumes: []vmv1alpha1.VirtualMachineVolume{volume("new", "1Gi", "virtio")},
			want:    []Difference{{Path: "volumes[new]", Desired: "1Gi on pvscsi", Live: true}},
			changes: []string{"add disk 1Gi at 1000:2 create", "slipway.volume.new=scsi0:2"}},
		{name: "both disks are on a new controller of another kind", volumes: []vmv1alpha1.VirtualMachineVolume{volume("a", "1Gi", "lsilogic"), volume("b", "4Gi", "lsilogic")},
			want: []Difference{{Path: "volumes[a]", Desired: "1Gi on lsilogic", Live: true}, {Path: "volumes[b]", Desired: "4Gi on lsilogic", Live: true}},
			changes: []string{"add *types.VirtualLsiLogicController -201", "add disk 1Gi at -201:0 create", "add disk 4Gi at -201:1 create",
				"slipway.volume.a=scsi1:0", "slipway.volume.b=scsi1:1"}},
		{name: "a new SATA controller waits for power off", volumes: []vmv1alpha1.VirtualMachineVolume{volume("a", "1Gi", "sata")},
			want:    []Difference{{Path: "volumes[a]", Desired: "1Gi on sata"}},
			changes: []string{"add *types.VirtualAHCIController -201", "add disk 1Gi at -201:0 create", "slipway.volume.a=sata0:0"}},
		{name: "without hot plug", volumes: []vmv1alpha1.VirtualMachineVolume{volume("a", "1Gi", "")},
			devices: &vmv1alpha1.VirtualMachineDevices{DisableHotplug: ptr(true)},
			want: []Difference{{Path: "devices.disableHotplug", Running: "false", Desired: "true"},
				{Path: "volumes[a]", Desired: "1Gi on pvscsi"}},
			changes: []string{"add disk 1Gi at 1000:2 create", "devices.hotplug=FALSE", "slipway.volume.a=scsi0:2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w, vm := want(), have()
			withDisks(vm)
			if !slices.ContainsFunc(tc.volumes, func(v vmv1alpha1.VirtualMachineVolume) bool { return v.Name == "data" }) {
				setManually(observe.VolumeKey("data"), "")(vm)
			}
			w.Effective.Volumes, w.Effective.Devices = tc.volumes, tc.devices
			got := Differences(w, vm)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Difference{})); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.changes, changes(Spec(got))); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSlots_AreFreeAndLimited(t *testing.T) {
	units := func(kind string, bus, n int32) observe.Controller {
		c := observe.Controller{Kind: kind, Bus: bus, Key: 1000 + bus}
		for unit := range n {
			c.Units = append(c.Units, unit)
		}
		return c
	}
	full := func(kind string, bus int32) observe.Controller {
		return units(kind, bus, apilimits.SlotsOf(kind, 14).Units)
	}
	newer := " (0 to 64 with virtual hardware version 14 or newer: set minHardwareVersion)"
	for _, tc := range []struct {
		name        string
		controllers []observe.Controller
		kind        string
		version     int32
		unit        *int32
		want        string // or the reason why there is none
	}{
		{"the first bus", nil, "nvme", 21, nil, "nvme0:0 new"},
		{"the unit of the controller itself is left out",
			[]observe.Controller{{Kind: "pvscsi", Units: []int32{0, 1, 2, 3, 4, 5, 6}}}, "pvscsi", 21, nil, "scsi0:8"},
		{"the bus of another kind of SCSI is taken", []observe.Controller{{Kind: "lsilogic"}}, "pvscsi", 21, nil, "scsi1:0 new"},
		{"a full controller is followed by another", []observe.Controller{full("pvscsi", 0)}, "pvscsi", 14, nil, "scsi1:0 new"},
		{"a paravirtual controller has 64 disks", []observe.Controller{units("pvscsi", 0, 16)}, "pvscsi", 14, nil, "scsi0:16"},
		{"the last of 64 units", []observe.Controller{units("pvscsi", 0, 64)}, "", 14, nil, "scsi0:64"},
		{"a paravirtual controller has 15 disks before version 14", []observe.Controller{units("pvscsi", 0, 16)}, "pvscsi", 13, nil, "scsi1:0 new"},
		{"a paravirtual controller of an unknown version has 15 disks", []observe.Controller{units("pvscsi", 0, 16)}, "pvscsi", 0, nil, "scsi1:0 new"},
		{"other SCSI controllers have 15", []observe.Controller{units("lsilogicsas", 0, 16)}, "lsilogicsas", 21, nil, "scsi1:0 new"},
		{"a unit above 15", nil, "pvscsi", 14, ptr[int32](64), "scsi0:64 new"},
		{"a unit above 15 before version 14", nil, "pvscsi", 13, ptr[int32](16), "unitNumber: 16 cannot be used on pvscsi, whose units are 0 to 15" + newer},
		{"an invalid unit number in any version", nil, "pvscsi", 14, ptr[int32](65), "unitNumber: 65 cannot be used on pvscsi, whose units are 0 to 64"},
		{"all controllers are full", []observe.Controller{full("sata", 0), full("sata", 1), full("sata", 2), full("sata", 3)}, "sata", 21, nil,
			"bus: the virtual machine has no free slot on sata"},
		{"256 disks", []observe.Controller{full("pvscsi", 0), full("pvscsi", 1), full("pvscsi", 2), full("pvscsi", 3)}, "pvscsi", 14, nil,
			"bus: the virtual machine has no free slot on pvscsi"},
		{"60 disks before version 14", []observe.Controller{units("pvscsi", 0, 16), units("pvscsi", 1, 16), units("pvscsi", 2, 16), units("pvscsi", 3, 16)}, "pvscsi", 13, nil,
			"bus: the virtual machine has no free slot on pvscsi" + newer},
		{"no IDE controller is added", []observe.Controller{full("ide", 0)}, "ide", 21, nil, "bus: the virtual machine has no free slot on ide"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := volume("v", "1Gi", tc.kind)
			v.UnitNumber = tc.unit
			s, got := findSlot(&tc.controllers, &v, tc.version)
			if got == "" {
				got = s.controller.Slot(s.unit)
				if s.added {
					got += " new"
				}
			}
			if got != tc.want {
				t.Errorf("slot = %q, want %q", got, tc.want)
			}
		})
	}
}

// All disks are added in one request, which needs unique keys.
func TestVolumes_Adds256Disks(t *testing.T) {
	for version, most := range map[string]struct{ added, refused int }{"vmx-14": {256, 0}, "vmx-13": {60, 196}} {
		w, vm := want(), have()
		vm.Config.Version = version
		for n := range 256 {
			w.Effective.Volumes = append(w.Effective.Volumes, volume(fmt.Sprintf("v%d", n), "1Gi", ""))
		}
		keys, slots := map[int32]bool{}, map[string]bool{}
		for _, c := range Spec(Differences(w, vm)).DeviceChange {
			if disk, ok := c.GetVirtualDeviceConfigSpec().Device.(*types.VirtualDisk); ok {
				keys[disk.Key], slots[fmt.Sprint(disk.ControllerKey, *disk.UnitNumber)] = true, true
			}
		}
		if refused := len(Refused(w, vm).Invalid); len(keys) != most.added || len(slots) != most.added || refused != most.refused {
			t.Errorf("%s: %d disks in %d slots, %d refused; want %d and %d", version, len(keys), len(slots), refused, most.added, most.refused)
		}
	}
}
