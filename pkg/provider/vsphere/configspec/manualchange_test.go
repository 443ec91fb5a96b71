// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package configspec

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// setManually returns a function that sets extraConfig keys.
func setManually(keysAndValues ...string) func(*mo.VirtualMachine) {
	return func(vm *mo.VirtualMachine) {
		for n := 0; n < len(keysAndValues); n += 2 {
			option := &types.OptionValue{Key: keysAndValues[n], Value: keysAndValues[n+1]}
			vm.Config.ExtraConfig = object.OptionValueList{option}.Join(vm.Config.ExtraConfig...)
		}
	}
}

// configManually returns a function that changes the configuration.
func configManually(change func(*types.VirtualMachineConfigInfo)) func(*mo.VirtualMachine) {
	return func(vm *mo.VirtualMachine) { change(vm.Config) }
}

// removeManually removes the devices of a kind.
func removeManually[T any](vm *mo.VirtualMachine) {
	vm.Config.Hardware.Device = slices.DeleteFunc(vm.Config.Hardware.Device, func(d types.BaseVirtualDevice) bool { _, is := d.(T); return is })
}

// manualFields contains a manual change for each table field that vSphere supports.
var manualFields = map[string]func(*mo.VirtualMachine){
	hardware.CPUSockets:     configManually(func(c *types.VirtualMachineConfigInfo) { c.Hardware.NumCPU = 8 }),
	hardware.CPUCores:       configManually(func(c *types.VirtualMachineConfigInfo) { c.Hardware.NumCoresPerSocket = ptr(int32(1)) }),
	hardware.CPUHotAdd:      configManually(func(c *types.VirtualMachineConfigInfo) { c.CpuHotAddEnabled = ptr(false) }),
	hardware.CPULatency:     configManually(func(c *types.VirtualMachineConfigInfo) { c.LatencySensitivity = nil }),
	hardware.CPUReservation: configManually(func(c *types.VirtualMachineConfigInfo) { c.CpuAllocation.Reservation = ptr(int64(1)) }),
	hardware.CPULimit:       configManually(func(c *types.VirtualMachineConfigInfo) { c.CpuAllocation.Limit = ptr(int64(-1)) }),
	hardware.CPUShares: configManually(func(c *types.VirtualMachineConfigInfo) {
		c.CpuAllocation.Shares = &types.SharesInfo{Level: types.SharesLevelLow}
	}),
	hardware.MemoryGuest:       configManually(func(c *types.VirtualMachineConfigInfo) { c.Hardware.MemoryMB = 512 }),
	hardware.MemoryHotAdd:      configManually(func(c *types.VirtualMachineConfigInfo) { c.MemoryHotAddEnabled = ptr(false) }),
	hardware.MemoryHugePages:   setManually(hugePageKey, "FALSE"),
	hardware.MemoryReservation: configManually(func(c *types.VirtualMachineConfigInfo) { c.MemoryAllocation.Reservation = ptr(int64(1)) }),
	hardware.MemoryLocked:      configManually(func(c *types.VirtualMachineConfigInfo) { c.MemoryReservationLockedToMax = ptr(false) }),
	hardware.MemoryLimit:       configManually(func(c *types.VirtualMachineConfigInfo) { c.MemoryAllocation.Limit = ptr(int64(-1)) }),
	hardware.MemoryShares: configManually(func(c *types.VirtualMachineConfigInfo) {
		c.MemoryAllocation.Shares = &types.SharesInfo{Level: types.SharesLevelHigh}
	}),
	hardware.Bootloader:           configManually(func(c *types.VirtualMachineConfigInfo) { c.Firmware = "bios" }),
	hardware.SecureBoot:           configManually(func(c *types.VirtualMachineConfigInfo) { c.BootOptions.EfiSecureBootEnabled = ptr(false) }),
	hardware.BIOSUUID:             configManually(func(c *types.VirtualMachineConfigInfo) { c.Uuid = "bb" }),
	hardware.HardwareVersion:      configManually(func(c *types.VirtualMachineConfigInfo) { c.Version = "vmx-18" }),
	hardware.GuestID:              configManually(func(c *types.VirtualMachineConfigInfo) { c.GuestId = "other" }),
	hardware.StorageClass:         setManually(observe.HomePolicyKey, "3"),
	hardware.BootDiskSize:         func(vm *mo.VirtualMachine) { shrinkManually(diskOfVM(vm, 2000)) },
	hardware.BootDiskStorageClass: setManually(observe.BootDiskPolicyKey, "3"),
	hardware.BootOrder:            configManually(func(c *types.VirtualMachineConfigInfo) { c.BootOptions.BootOrder = nil }),
	hardware.GPUs:                 removeManually[*types.VirtualPCIPassthrough],
	hardware.HostDevices:          removeManually[*types.VirtualPCIPassthrough],
	hardware.TPM:                  removeManually[*types.VirtualTPM],
	hardware.DisableHotplug:       setManually(hotplugKey, "TRUE"),
	hardware.GraphicsDevice:       setManually(videoKey, "TRUE"),
	hardware.SerialConsole:        removeManually[*types.VirtualSerialPort],
}

// manualDevices are manual changes of adapters, disks and drives, with the path that reports them.
var manualDevices = map[string]struct {
	path   string
	change func(*mo.VirtualMachine)
}{
	"another network": {hardware.Interface("eth0"), func(vm *mo.VirtualMachine) { adapterOf(vm).Backing = backing("other") }},
	"another address": {hardware.Interface("eth0"), func(vm *mo.VirtualMachine) { adapterOf(vm).MacAddress = "00:50:56:00:00:09" }},
	"an adapter that is not connected at power on": {hardware.Interface("eth0"), func(vm *mo.VirtualMachine) {
		adapterOf(vm).Connectable = &types.VirtualDeviceConnectInfo{AllowGuestControl: true}
	}},
	"an adapter that was disconnected": {hardware.Interface("eth0"), func(vm *mo.VirtualMachine) {
		adapterOf(vm).Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true}
	}},
	"no adapter":                 {hardware.Interface("eth0"), removeManually[types.BaseVirtualEthernetCard]},
	"a non-persistent disk":      {hardware.Volume("data"), modeManually(2001, types.VirtualDiskModeIndependent_nonpersistent)},
	"an undoable disk":           {hardware.Volume("data"), modeManually(2001, types.VirtualDiskModeUndoable)},
	"a non-persistent boot disk": {"bootDisk", modeManually(2000, types.VirtualDiskModeIndependent_nonpersistent)},
	"a disk on another bus": {hardware.Volume("data") + ".bus", func(vm *mo.VirtualMachine) {
		sata := &types.VirtualAHCIController{}
		sata.Key = 15000
		vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, sata)
		diskOfVM(vm, 2001).ControllerKey = 15000
		setManually(observe.VolumeKey("data"), "sata0:1")(vm)
	}},
	"a smaller disk": {hardware.Volume("data"), func(vm *mo.VirtualMachine) { shrinkManually(diskOfVM(vm, 2001)) }},
	"a removed disk": {hardware.Volume("data"), func(vm *mo.VirtualMachine) {
		vm.Config.Hardware.Device = slices.DeleteFunc(vm.Config.Hardware.Device, func(d types.BaseVirtualDevice) bool { return d.GetVirtualDevice().Key == 2001 })
	}},
	"a removed drive": {hardware.Volume("iso"), removeManually[*types.VirtualCdrom]},
	"another medium":  {hardware.Volume("iso"), func(vm *mo.VirtualMachine) { insert(devicesOf[*types.VirtualCdrom](vm)[0], "[ds] other.iso", true) }},
}

// shrinkManually changes a disk's size to 1Gi.
func shrinkManually(disk *types.VirtualDisk) { disk.CapacityInBytes, disk.CapacityInKB = 1<<30, 1<<20 }

func adapterOf(vm *mo.VirtualMachine) *types.VirtualEthernetCard {
	return observe.EthernetCards(vm)[0].GetVirtualEthernetCard()
}

func modeManually(disk int32, mode types.VirtualDiskMode) func(*mo.VirtualMachine) {
	return func(vm *mo.VirtualMachine) {
		diskOfVM(vm, disk).Backing.(*types.VirtualDiskFlatVer2BackingInfo).DiskMode = string(mode)
	}
}

// fullSpec sets every hardware field that vSphere supports.
const fullSpec = `
cpu: {sockets: 3, cores: 2, maxSockets: 8, hotAddEnabled: true, dedicatedCPUPlacement: true, reservation: 1G, limit: 2G, shares: {level: High}},
memory: {guest: 4Gi, maxGuest: 8Gi, hotAddEnabled: true, hugePageSize: 1Gi, limit: 4Gi, shares: {level: Low}},
firmware: {bootloader: EFI, secureBoot: true, uuid: aa}, minHardwareVersion: 19, guestID: x,
network: {interfaces: [{name: eth0, macAddress: "00:50:56:00:00:01"}]},
volumes: [{name: data, disk: {size: 2Gi}}, {name: iso, cdrom: {image: {name: iso}}}],
storageClass: gold, bootDisk: {size: 16Gi, storageClass: silver}, bootOrder: [{type: CDROM}],
devices: {gpus: [{name: g, deviceName: grid}], hostDevices: [{name: h, deviceName: "8086:1572"}], tpm: {}, video: {type: svga},
  disableHotplug: true, autoattachGraphicsDevice: false, autoattachSerialConsole: true}`

// fullVM returns a running VM with the configuration of fullSpec.
func fullVM(t *testing.T) (Desired, *mo.VirtualMachine) {
	t.Helper()
	w := Desired{Desired: driver.Desired{Desired: provider.Desired{Effective: effectiveOf(t, fullSpec)},
		Identity: driver.Identity{Key: want().Identity.Key, UID: "uid", InstanceUUID: "ab"}, Name: "web"}, Backings: backings}
	w.Storage.Policies = map[string]storage.Policy{"gold": {ID: "1", Name: "Gold"}, "silver": {ID: "2", Name: "Silver"}, "": {}}
	w.ISOs = map[string]string{"iso": "[ds] iso.iso"}
	vm := createdVM(w.Effective)
	vm.Name, vm.Config.InstanceUuid = "web", "ab"
	vm.Config.Files.VmPathName = "[ds] web/web.vmx"
	vm.Config.ExtraConfig = append(vm.Config.ExtraConfig, &types.OptionValue{Key: ownerKey, Value: "ns/web/uid"})
	withDisks(vm)
	diskOfVM(vm, 2000).Backing = &types.VirtualDiskFlatVer2BackingInfo{Uuid: "boot-uuid", DiskMode: string(types.VirtualDiskModePersistent)}
	for range 5 { // One change may depend on another, for example a device on its controller.
		for _, d := range Differences(w, vm) {
			var spec types.VirtualMachineConfigSpec
			d.set(&spec)
			setByReconfiguration(vm, &spec)
		}
	}
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
	return w, vm
}

// setByReconfiguration simulates a reconfiguration by vSphere.
func setByReconfiguration(vm *mo.VirtualMachine, spec *types.VirtualMachineConfigSpec) {
	for _, c := range spec.DeviceChange {
		change := c.GetVirtualDeviceConfigSpec()
		key := change.Device.GetVirtualDevice().Key
		devices := vm.Config.Hardware.Device
		if change.Operation != types.VirtualDeviceConfigSpecOperationAdd {
			devices = slices.DeleteFunc(devices, func(d types.BaseVirtualDevice) bool { return d.GetVirtualDevice().Key == key })
		}
		if change.Operation != types.VirtualDeviceConfigSpecOperationRemove {
			devices = append(devices, change.Device)
		}
		if key < 0 {
			change.Device.GetVirtualDevice().Key = 20000 - key
		}
		vm.Config.Hardware.Device = devices
	}
	for _, d := range vm.Config.Hardware.Device {
		if v := d.GetVirtualDevice(); v.ControllerKey < 0 {
			v.ControllerKey = 20000 - v.ControllerKey
		}
	}
	for _, o := range spec.ExtraConfig {
		setManually(o.GetOptionValue().Key, o.GetOptionValue().Value.(string))(vm)
	}
	setScalars(vm.Config, spec)
}

// setScalars sets fields that are not devices and not extraConfig keys.
func setScalars(config *types.VirtualMachineConfigInfo, spec *types.VirtualMachineConfigSpec) {
	if b := spec.BootOptions; b != nil {
		override(&ensurePart(&config.BootOptions).BootOrder, b.BootOrder)
		override(&config.BootOptions.EfiSecureBootEnabled, b.EfiSecureBootEnabled)
	}
	for _, a := range []struct {
		to   **types.ResourceAllocationInfo
		from *types.ResourceAllocationInfo
	}{{&config.CpuAllocation, spec.CpuAllocation}, {&config.MemoryAllocation, spec.MemoryAllocation}} {
		if a.from != nil {
			override(&ensurePart(a.to).Reservation, a.from.Reservation)
			override(&ensurePart(a.to).Limit, a.from.Limit)
			override(&ensurePart(a.to).Shares, a.from.Shares)
		}
	}
	override(&config.CpuHotAddEnabled, spec.CpuHotAddEnabled)
	override(&config.MemoryHotAddEnabled, spec.MemoryHotAddEnabled)
	override(&config.MemoryReservationLockedToMax, spec.MemoryReservationLockedToMax)
	override(&config.LatencySensitivity, spec.LatencySensitivity)
	override(&config.Firmware, spec.Firmware)
	override(&config.Uuid, spec.Uuid)
	override(&config.GuestId, spec.GuestId)
	override(&config.Hardware.NumCPU, spec.NumCPUs)
	override(&config.Hardware.NumCoresPerSocket, spec.NumCoresPerSocket)
	override(&config.Hardware.MemoryMB, int32(spec.MemoryMB))
}

// override sets a value unless it is the zero value.
func override[T any](to *T, value T) {
	if !reflect.ValueOf(&value).Elem().IsZero() {
		*to = value
	}
}

// reportedPaths returns the paths that a comparison of the VM reports: changes that are applied now or at a
// restart, and deviations.
func reportedPaths(w Desired, vm *mo.VirtualMachine) []string {
	var out []string
	for _, d := range Differences(w, vm) {
		out = append(out, d.Path)
	}
	for _, text := range slices.Concat(Refused(w, vm).Invalid, Deviations(w, vm)) {
		path, _, _ := strings.Cut(text, " ")
		out = append(out, strings.TrimSuffix(path, ":"))
	}
	return out
}

func TestHardware_ManualChangeIsCorrectedOrReported(t *testing.T) {
	w, vm := fullVM(t)
	if got := reportedPaths(w, vm); len(got) > 0 {
		t.Fatalf("the VM differs before the change: %v", got)
	}
	check := func(path string, change func(*mo.VirtualMachine)) {
		t.Helper()
		w, vm := fullVM(t)
		change(vm)
		if got := reportedPaths(w, vm); !slices.Contains(got, path) {
			t.Errorf("%s was changed manually, but the comparison reports %v", path, got)
		}
	}
	for i := range hardware.Fields {
		f := &hardware.Fields[i]
		switch change, ok := manualFields[f.Path]; {
		case f.Property == "": // vSphere does not support it.
		case !ok:
			t.Errorf("%s has no manual change in manualFields", f.Path)
		default:
			check(f.Path, change)
		}
	}
	for name, tc := range manualDevices {
		t.Run(name, func(t *testing.T) { check(tc.path, tc.change) })
	}
}

func TestHardware_AdoptedVMKeepsManualChangesOfUnsetFields(t *testing.T) {
	changes := map[string]func(*mo.VirtualMachine){}
	for path, change := range manualFields {
		changes[path] = change
	}
	for name, tc := range manualDevices {
		changes[name] = tc.change
	}
	for name, change := range changes {
		_, vm := fullVM(t)
		w := wantAdopted()
		w.Effective = effectiveOf(t, `network: {interfaces: [{name: eth0}]}`)
		w.Identity.InstanceUUID, w.Name = "ab", "web"
		vm.Config.ExtraConfig = slices.DeleteFunc(vm.Config.ExtraConfig, func(o types.BaseOptionValue) bool {
			return strings.HasPrefix(o.GetOptionValue().Key, "slipway.") && o.GetOptionValue().Key != ownerKey
		})
		setManually(observe.AdoptedKey, "uid", observe.AdaptersKey, "eth0=4000")(vm)
		change(vm)
		setManually(observe.VolumeKey("data"), "")(vm)
		for _, path := range reportedPaths(w, vm) {
			if !strings.HasPrefix(path, "metadata.") {
				t.Errorf("%s: compared for an adopted VM whose spec does not set it: %s", name, path)
			}
		}
	}
}
