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

// withDisks adds a paravirtual controller with the image's disk and one of a
// volume named data, of 2Gi.
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

// changes prints device changes and the slots that are recorded; which disks are recorded is
// for TestRecordDisks.
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

func TestVolumesBecomeDisks(t *testing.T) {
	for _, tc := range []struct {
		name    string
		volumes []vmv1alpha1.VirtualMachineVolume
		devices *vmv1alpha1.VirtualMachineDevices
		want    []Difference
		changes []string
	}{
		{name: "there already", volumes: []vmv1alpha1.VirtualMachineVolume{volume("data", "2Gi", "")}},
		{name: "taken away", volumes: []vmv1alpha1.VirtualMachineVolume{volume("gone", "2Gi", "")}},
		{name: "larger", volumes: []vmv1alpha1.VirtualMachineVolume{volume("data", "3Gi", "")},
			want:    []Difference{{Path: "volumes[data]", Running: "2Gi on pvscsi", Desired: "3Gi on pvscsi", Live: true}},
			changes: []string{"edit disk 3Gi at 1000:1 "}},
		{name: "smaller is no difference", volumes: []vmv1alpha1.VirtualMachineVolume{volume("data", "1Gi", "")}},
		{name: "next to a disk of no volume", volumes: []vmv1alpha1.VirtualMachineVolume{volume("new", "1Gi", "virtio")},
			want:    []Difference{{Path: "volumes[new]", Desired: "1Gi on pvscsi", Live: true}},
			changes: []string{"add disk 1Gi at 1000:2 create", "slipway.volume.new=scsi0:2"}},
		{name: "a new controller of another kind takes both", volumes: []vmv1alpha1.VirtualMachineVolume{volume("a", "1Gi", "lsilogic"), volume("b", "4Gi", "lsilogic")},
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
				setByHand(observe.VolumeKey("data"), "")(vm)
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

func TestSlotsAreFreeAndBounded(t *testing.T) {
	full := func(kind string, bus int32) observe.Controller {
		c := observe.Controller{Kind: kind, Bus: bus, Key: 1000 + bus}
		for unit := range apilimits.SlotsOf(kind).Units {
			c.Units = append(c.Units, unit)
		}
		return c
	}
	for _, tc := range []struct {
		name        string
		controllers []observe.Controller
		kind        string
		want        string // empty for none
	}{
		{"the first bus", nil, "nvme", "nvme0:0 new"},
		{"the unit of the controller itself is left out",
			[]observe.Controller{{Kind: "pvscsi", Units: []int32{0, 1, 2, 3, 4, 5, 6}}}, "pvscsi", "scsi0:8"},
		{"the bus of another kind of SCSI is taken", []observe.Controller{{Kind: "lsilogic"}}, "pvscsi", "scsi1:0 new"},
		{"a full controller is followed by another", []observe.Controller{full("pvscsi", 0)}, "pvscsi", "scsi1:0 new"},
		{"all are full", []observe.Controller{full("sata", 0), full("sata", 1), full("sata", 2), full("sata", 3)}, "sata", ""},
		{"no IDE controller is added", []observe.Controller{full("ide", 0)}, "ide", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			v := volume("v", "1Gi", tc.kind)
			if s, problem := place(&tc.controllers, &v); problem == "" {
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
