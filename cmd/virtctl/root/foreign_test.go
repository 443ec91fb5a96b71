// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package root_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/slipway-dev/slipway/cmd/virtctl/foreign"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// byHand is a VM as an administrator has made it, with two disks and two adapters.
func byHand() *foreign.Machine {
	scsi := &types.ParaVirtualSCSIController{}
	scsi.Key, scsi.BusNumber = 1000, 0
	sata := &types.VirtualAHCIController{}
	sata.Key, sata.BusNumber = 15000, 1
	nic, second := &types.VirtualVmxnet3{}, &types.VirtualPCNet32{}
	nic.Key, nic.MacAddress = 4000, "00:50:56:AA:00:01"
	nic.Backing = &types.VirtualEthernetCardNetworkBackingInfo{VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: "VM Network"}}
	second.Key, second.MacAddress = 4001, "00:50:56:aa:00:02"
	second.Backing = &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{PortgroupKey: "dvportgroup-9"}}
	vm := &mo.VirtualMachine{Config: &types.VirtualMachineConfigInfo{
		InstanceUuid: "5021ABCD-0000-0000-0000-000000000001", Uuid: "4221ABCD-0000-0000-0000-000000000001", Firmware: "efi",
		BootOptions: &types.VirtualMachineBootOptions{EfiSecureBootEnabled: ptr.To(true)},
		Hardware: types.VirtualHardware{NumCPU: 4, NumCoresPerSocket: ptr.To(int32(2)), MemoryMB: 4096, Device: []types.BaseVirtualDevice{
			scsi, sata, vsphereDisk(2000, 1000, 0, 16<<30), vsphereDisk(16001, 15000, 3, 5<<30), nic, second, &types.VirtualTPM{},
		}},
		CpuHotAddEnabled: ptr.To(true), Files: types.VirtualMachineFileInfo{VmPathName: "[ds] web/web.vmx"},
	}}
	vm.Name, vm.Self = "Web 1", types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-7"}
	vm.Runtime.PowerState, vm.Runtime.ConnectionState = types.VirtualMachinePowerStatePoweredOn, types.VirtualMachineConnectionStateConnected
	return &foreign.Machine{
		VM: vm, Path: "/DC0/vm/slipway/old/Web 1", Datacenter: "/DC0", Cluster: "/DC0/host/C0",
		Folders: []string{"/DC0/vm/slipway/old", "/DC0/vm/slipway", "/DC0/vm"}, Pools: []string{"/DC0/host/C0/Resources/prod", "/DC0/host/C0/Resources"},
		Networks: map[string]string{"VM Network": "/DC0/network/VM Network", "dvportgroup-9": "/DC0/network/backup"},
	}
}

func vsphereDisk(key, controller, unit int32, bytes int64) *types.VirtualDisk {
	d := &types.VirtualDisk{CapacityInBytes: bytes, CapacityInKB: bytes >> 10}
	d.Key, d.ControllerKey, d.UnitNumber = key, controller, &unit
	backing := &types.VirtualDiskFlatVer2BackingInfo{}
	backing.FileName = "[ds] web/" + string(rune('a'+unit)) + ".vmdk"
	d.Backing = backing
	return d
}

func foreignZone(name string, change func(*vmv1alpha1.ZoneSpec)) vmv1alpha1.Zone {
	z := vmv1alpha1.Zone{Spec: vmv1alpha1.ZoneSpec{Cluster: "C0", Folder: "slipway", Networks: []vmv1alpha1.ZoneNetwork{{Name: "front", Network: "VM Network"}}}}
	z.Name = name
	if change != nil {
		change(&z.Spec)
	}
	return z
}

func TestForeign_ManifestMatchesTheVM(t *testing.T) {
	m, z := byHand(), foreignZone("a", nil)
	c := foreign.Describe(m, "legacy", "web-1", foreign.Place{Zone: &z})
	got, err := yaml.Marshal(c.Object.Spec)
	if err != nil {
		t.Fatal(err)
	}
	want := `bootDisk:
  size: 16Gi
cpu:
  cores: 2
  hotAddEnabled: true
  sockets: 2
firmware:
  bootloader: EFI
  secureBoot: true
  uuid: 4221abcd-0000-0000-0000-000000000001
instanceUUID: 5021abcd-0000-0000-0000-000000000001
memory:
  guest: 4Gi
  hotAddEnabled: false
network:
  interfaces:
  - macAddress: 00:50:56:aa:00:01
    model: vmxnet3
    name: eth0
    network: front
  - macAddress: 00:50:56:aa:00:02
    name: eth1
powerState: PoweredOn
volumes:
- bus: sata
  controllerBusNumber: 1
  disk:
    size: 5Gi
  name: sata1-3
  unitNumber: 3
zone: a
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
	notes := []string{
		"interface eth1 stays on its network /DC0/network/backup, which is not in the manifest",
		"interface eth1 keeps its model VirtualPCNet32, which manifests do not support",
		"VirtualTPM stays attached and is not in the manifest",
	}
	if diff := cmp.Diff(notes, c.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if changes, err := c.Changes(c.Object); err != nil || len(changes) > 0 {
		t.Errorf("changes %q, %v; want none", changes, err)
	}
	c.Object.Spec.CPU.Sockets = 4
	if changes, err := c.Changes(c.Object); err != nil || len(changes) != 1 || !strings.HasPrefix(changes[0], `cpu.sockets: "2" becomes "4"`) {
		t.Errorf("with twice as many sockets: %q, %v", changes, err)
	}
	smaller := vmv1alpha1.VirtualMachineBootDisk{Capacity: c.Object.Spec.Memory.Guest}
	c = foreign.Describe(m, "legacy", "web-1", foreign.Place{})
	c.Object.Spec.BootDisk = &smaller
	if changes, err := c.Changes(c.Object); err != nil || len(changes) > 0 {
		t.Errorf("with a disk that is larger than the manifest has it: %q, %v; want no change", changes, err)
	}
}

func TestForeign_ManifestOmitsDisksThatTheVMDoesNotOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*types.VirtualDisk)
		note   string
		boot   bool
	}{
		"first class": {func(d *types.VirtualDisk) { d.VDiskId = &types.ID{Id: "x"} }, "it is a first class disk", true},
		"shared": {func(d *types.VirtualDisk) {
			d.Backing.(*types.VirtualDiskFlatVer2BackingInfo).Sharing = "sharingMultiWriter"
		}, "several VMs write to it", false},
		"a raw device": {func(d *types.VirtualDisk) { d.Backing = &types.VirtualDiskRawDiskMappingVer1BackingInfo{} }, "its type is VirtualDiskRawDiskMappingVer1", false},
		"in another directory": {func(d *types.VirtualDisk) {
			d.Backing.(*types.VirtualDiskFlatVer2BackingInfo).FileName = "[ds] db/x.vmdk"
		}, "is not in the directory of the VM", false},
		"of no whole mebibytes": {func(d *types.VirtualDisk) { d.CapacityInBytes++ }, "its size is not a multiple of 1 MiB", false},
	} {
		t.Run(name, func(t *testing.T) {
			m := byHand()
			tc.change(m.VM.Config.Hardware.Device[3].(*types.VirtualDisk))
			c := foreign.Describe(m, "legacy", "web-1", foreign.Place{})
			if len(c.Object.Spec.Volumes) > 0 || (c.Object.Spec.BootDisk != nil) != tc.boot || !strings.Contains(strings.Join(c.Notes, "\n"), tc.note) {
				t.Errorf("volumes %v, boot disk %v, notes %q; want no volume, a boot disk: %t, and %q", c.Object.Spec.Volumes, c.Object.Spec.BootDisk, c.Notes, tc.boot, tc.note)
			}
			if changes, err := c.Changes(c.Object); err != nil || len(changes) > 0 {
				t.Errorf("changes %q, %v; want none", changes, err)
			}
		})
	}
}

func TestForeign_KeepsLinkedClonesAndCountsSnapshots(t *testing.T) {
	m := byHand()
	backing := m.VM.Config.Hardware.Device[2].(*types.VirtualDisk).Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	parent := &types.VirtualDiskFlatVer2BackingInfo{}
	parent.FileName = "[ds] golden/golden.vmdk"
	backing.Parent = parent
	m.VM.Snapshot = &types.VirtualMachineSnapshotInfo{RootSnapshotList: []types.VirtualMachineSnapshotTree{{ChildSnapshotList: []types.VirtualMachineSnapshotTree{{}}}}}
	m.VM.Runtime.PowerState = types.VirtualMachinePowerStateSuspended
	c := foreign.Describe(m, "legacy", "web-1", foreign.Place{Others: []string{"b"}})
	if got := c.Object.Spec.PromoteDisksMode; got != vmv1alpha1.PromoteDisksModeDisabled {
		t.Errorf("promoteDisksMode = %q: its disks would be copied", got)
	}
	for _, want := range []string{"the VM has 2 snapshots", "disks depend on those of another VM", "the VM is suspended", "also in the zones b"} {
		if !strings.Contains(strings.Join(c.Notes, "\n"), want) {
			t.Errorf("notes %q do not say %q", c.Notes, want)
		}
	}
	if changes, err := c.Changes(c.Object); err != nil || len(changes) > 0 {
		t.Errorf("changes %q, %v; want none", changes, err)
	}
}

func TestForeign_SkipsVMsWithAReason(t *testing.T) {
	for want, change := range map[string]func(*mo.VirtualMachine){
		"":                                 func(*mo.VirtualMachine) {},
		"its configuration cannot be read": func(vm *mo.VirtualMachine) { vm.Config = nil },
		"it is a template: use it as a VirtualMachineImage": func(vm *mo.VirtualMachine) { vm.Config.Template = true },
		"it is a system VM of vSphere Cluster Services":     func(vm *mo.VirtualMachine) { vm.Name = "vCLS-4c4c4544" },
		"it is orphaned":          func(vm *mo.VirtualMachine) { vm.Runtime.ConnectionState = types.VirtualMachineConnectionStateOrphaned },
		"it has no instance UUID": func(vm *mo.VirtualMachine) { vm.Config.InstanceUuid = "" },
		"it uses fault tolerance, which Slipway does not support": func(vm *mo.VirtualMachine) { vm.Config.FtInfo = &types.FaultToleranceConfigInfo{} },
		"it is managed by another product: com.vmware.vcenter.wcp": func(vm *mo.VirtualMachine) {
			vm.Config.ManagedBy = &types.ManagedByInfo{ExtensionKey: "com.vmware.vcenter.wcp"}
		},
		"it already belongs to VirtualMachine ns/web": func(vm *mo.VirtualMachine) {
			vm.Config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "slipway.vm", Value: "ns/web/uid"}}
		},
		"its setting slipway.vm specifies another owner": func(vm *mo.VirtualMachine) {
			vm.Config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "slipway.vm", Value: "other"}}
		},
	} {
		m := byHand()
		change(m.VM)
		if got := foreign.Skip(m); got != want {
			t.Errorf("skipped because %q, want %q", got, want)
		}
	}
	a, b := byHand(), byHand()
	b.Path, b.VM.Config.InstanceUuid = "/DC0/vm/b", strings.ToLower(b.VM.Config.InstanceUuid)
	if got := foreign.Twins([]*foreign.Machine{a, b}); got[a] != "it has the instance UUID of /DC0/vm/b" || got[b] != "it has the instance UUID of "+a.Path {
		t.Errorf("twins = %v", got)
	}
}

func TestForeign_NamesAreValidAndUnique(t *testing.T) {
	var machines []*foreign.Machine
	for i, name := range []string{"web-1", "Web 1", "DB_3.example.org", "数据", "taken", strings.Repeat("x", 80), "-9%2f"} {
		m := byHand()
		m.VM.Name = name
		m.VM.Config.InstanceUuid = strings.Repeat(string(rune('a'+i)), 8) + "-0000-0000-0000-000000000000"
		machines = append(machines, m)
	}
	names, notes := foreign.Names(machines, map[string]bool{"taken": true})
	want := []string{"web-1-aaaaaaaa", "web-1-bbbbbbbb", "db-3-example-org", "vm-dddddddd", "taken-eeeeeeee", strings.Repeat("x", 63), "9-2f"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for i, want := range []string{"other VMs would also be named web-1", "other VMs would also be named web-1", `the name in vSphere is "DB_3.example.org" and is kept`, "has no characters that object names support", "other VMs would also be named taken"} {
		if got := notes[machines[i]]; !strings.Contains(got, want) {
			t.Errorf("note on %q is %q, want %q", machines[i].VM.Name, got, want)
		}
	}
}

func TestForeign_ZoneIsTheOneThatContainsTheVM(t *testing.T) {
	spec := func(change func(*vmv1alpha1.ZoneSpec)) vmv1alpha1.Zone { return foreignZone("z", change) }
	for name, tc := range map[string]struct {
		zones []vmv1alpha1.Zone
		want  string
		err   string
	}{
		"no zones":                 {nil, "", ""},
		"zones of another vCenter": {[]vmv1alpha1.Zone{spec(func(s *vmv1alpha1.ZoneSpec) { s.VCenter = "west" })}, "", ""},
		"by names":                 {[]vmv1alpha1.Zone{spec(nil)}, "z", ""},
		"by paths": {[]vmv1alpha1.Zone{spec(func(s *vmv1alpha1.ZoneSpec) {
			s.Folder, s.Cluster, s.Datacenter = "/DC0/vm/slipway/", "host/C0", "/DC0"
		})}, "z", ""},
		"by its pool":                 {[]vmv1alpha1.Zone{spec(func(s *vmv1alpha1.ZoneSpec) { s.Cluster, s.ResourcePools = "", []string{"other", "prod"} })}, "z", ""},
		"below the folder of another": {[]vmv1alpha1.Zone{spec(func(s *vmv1alpha1.ZoneSpec) { s.Folder = "elsewhere" })}, "", "move it below the folder elsewhere (zone z)"},
		"on another cluster":          {[]vmv1alpha1.Zone{spec(func(s *vmv1alpha1.ZoneSpec) { s.Cluster = "C1" })}, "", "no zone contains /DC0/host/C0"},
		"in a pool of no zone":        {[]vmv1alpha1.Zone{spec(func(s *vmv1alpha1.ZoneSpec) { s.Cluster, s.ResourcePools = "", []string{"test"} })}, "", "no zone contains /DC0/host/C0"},
		"in another datacenter":       {[]vmv1alpha1.Zone{spec(func(s *vmv1alpha1.ZoneSpec) { s.Datacenter = "DC1" })}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			place, err := foreign.PlaceOf(byHand(), "default", tc.zones)
			got := ""
			if place.Zone != nil {
				got = place.Zone.Name
			}
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("zone %q, %v; want %q, %q", got, err, tc.want, tc.err)
			}
		})
	}
	vcenters := []vmv1alpha1.VCenter{{}, {}}
	vcenters[0].Name, vcenters[1].Name, vcenters[1].Status.InstanceUUID = "east", "west", "ABC"
	if got, err := foreign.VCenterOf("abc", vcenters, nil); got != "west" || err != nil {
		t.Errorf("vCenter %q, %v; want west", got, err)
	}
	if got, err := foreign.VCenterOf("abc", nil, nil); got != "default" || err != nil {
		t.Errorf("vCenter %q, %v; want the one that the flags describe", got, err)
	}
	ofFlags := []vmv1alpha1.Zone{foreignZone("z", nil)}
	if got, err := foreign.VCenterOf("xyz", vcenters, ofFlags); got != "default" || err != nil {
		t.Errorf("vCenter %q, %v; want the one that the flags describe, next to objects", got, err)
	}
	for name, tc := range map[string]struct {
		change func([]vmv1alpha1.VCenter)
		zones  []vmv1alpha1.Zone
		known  string
	}{
		"no zone of the flags":      {func([]vmv1alpha1.VCenter) {}, []vmv1alpha1.Zone{spec(func(s *vmv1alpha1.ZoneSpec) { s.VCenter = "west" })}, "(known: east, west)"},
		"an object for the default": {func(v []vmv1alpha1.VCenter) { v[0].Name = "default" }, ofFlags, "(known: default, west)"},
	} {
		all := slices.Clone(vcenters)
		tc.change(all)
		if _, err := foreign.VCenterOf("xyz", all, tc.zones); err == nil || !strings.Contains(err.Error(), tc.known) {
			t.Errorf("%s: error %v, want one that names %s", name, err, tc.known)
		}
	}
}
