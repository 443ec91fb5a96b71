// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// card returns a network card on the network of all virtual machines.
func card(key int32, mac string) *types.VirtualVmxnet3 {
	c := &types.VirtualVmxnet3{}
	c.Key, c.MacAddress = key, mac
	c.Backing = &types.VirtualEthernetCardNetworkBackingInfo{VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: "VM Network"}}
	return c
}

func TestRunningVM_HotPlugsAdaptersAndKeepsTheirAddresses(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("cards"))
	task, err := vm.PowerOn(ctx)
	wait(ctx, t, task, err)
	sriov := &types.VirtualSriovEthernetCard{VirtualEthernetCard: card(-1, "").VirtualEthernetCard}
	change := func(op types.VirtualDeviceConfigSpecOperation, d types.BaseVirtualDevice) error {
		task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{
			DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{Operation: op, Device: d}},
		})
		return faultOf(ctx, task, err)
	}
	const (
		add    = types.VirtualDeviceConfigSpecOperationAdd
		edit   = types.VirtualDeviceConfigSpecOperationEdit
		remove = types.VirtualDeviceConfigSpecOperationRemove
	)
	for _, step := range []struct {
		what    string
		do      func() error
		refused bool
		keys    []int32
	}{
		{"a card is added", func() error { return change(add, card(-1, "")) }, false, []int32{4000, 4001}},
		{"its address is changed", func() error { return change(edit, card(4001, "00:50:56:00:00:01")) }, true, []int32{4000, 4001}},
		{"one by SR-IOV is added", func() error { return change(add, sriov) }, true, []int32{4000, 4001}},
		{"the first is removed", func() error {
			devices, err := vm.Device(ctx)
			if err != nil {
				return err
			}
			return change(remove, devices.FindByKey(4000))
		}, false, []int32{4001}},
		{"the next one gets its key", func() error { return change(add, card(-1, "")) }, false, []int32{4001, 4000}},
		{"hotplug is turned off", func() error {
			task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: "devices.hotplug", Value: "FALSE"}}})
			return faultOf(ctx, task, err)
		}, false, []int32{4001, 4000}},
		{"one is added without hotplug", func() error { return change(add, card(-1, "")) }, true, []int32{4001, 4000}},
	} {
		err := step.do()
		if refused := fault.Is(err, &types.InvalidPowerState{}); refused != step.refused || err != nil && !refused {
			t.Errorf("%s: %v, want it refused: %t", step.what, err, step.refused)
		}
		devices, err := vm.Device(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var keys []int32
		for _, d := range devices.SelectByType((*types.VirtualEthernetCard)(nil)) {
			keys = append(keys, d.GetVirtualDevice().Key)
		}
		if !slices.Equal(keys, step.keys) {
			t.Errorf("%s: cards %v, want %v", step.what, keys, step.keys)
		}
	}
}

func TestSRIOV_RequiresThatAllMemoryIsReserved(t *testing.T) {
	ctx := testContext(t)
	c := connect(ctx, t, startServer(t, Options{}))
	p := findPlaces(ctx, t, c)
	for reserved, want := range map[bool]bool{true: true, false: false} {
		spec := machine("sriov")
		if reserved {
			spec = machine("reserved")
			spec.MemoryReservationLockedToMax = types.NewBool(true)
		}
		vm := create(ctx, t, c, p, spec)
		task, err := vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{DeviceChange: []types.BaseVirtualDeviceConfigSpec{&types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd,
			Device:    &types.VirtualSriovEthernetCard{VirtualEthernetCard: card(-1, "").VirtualEthernetCard},
		}}})
		wait(ctx, t, task, err)
		var started *object.Task
		started, err = vm.PowerOn(ctx)
		if err = faultOf(ctx, started, err); (err == nil) != want {
			t.Errorf("reserved %t: %v, want it to start: %t", reserved, err, want)
		}
	}
}
