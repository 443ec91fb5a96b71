// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/guest"
	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// SetAddresses replaces the addresses of the first adapter of a running guest. A guest can report any address.
func (e *Events) SetAddresses(id string, addresses ...string) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	config := &types.NetIpConfigInfo{}
	for _, address := range addresses {
		if _, err := netip.ParseAddr(address); err != nil {
			return fmt.Errorf("address: %w", err)
		}
		config.IpAddress = append(config.IpAddress, types.NetIpConfigInfoIpAddress{
			IpAddress: address, PrefixLength: 24, State: string(types.NetIpConfigInfoIpAddressStatusPreferred),
		})
	}
	ctx := strict.Acting(e.registry)
	ctx.WithLock(vm, func() {
		if vm.Guest == nil || len(vm.Guest.Net) == 0 {
			err = fmt.Errorf("vm: the guest of %s reports no adapter", vm.Self.Value)
			return
		}
		net := append([]types.GuestNicInfo(nil), vm.Guest.Net...)
		net[0].IpAddress, net[0].IpConfig = addresses, config
		ctx.Update(vm, []types.PropertyChange{
			{Name: "guest.net", Val: net}, {Name: "guest.ipAddress", Val: addresses[0]}, {Name: "summary.guest.ipAddress", Val: addresses[0]},
		})
	})
	return err
}

// SetHeartbeat sets the color of a guest's heartbeat.
func (e *Events) SetHeartbeat(id string, colour types.ManagedEntityStatus) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	ctx := strict.Acting(e.registry)
	ctx.WithLock(vm, func() { ctx.Update(vm, []types.PropertyChange{{Name: "guestHeartbeatStatus", Val: colour}}) })
	return nil
}

// IgnoreShutdown makes a guest ignore shutdown requests, or obey them again.
func (e *Events) IgnoreShutdown(id string, on bool) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	e.gate.Ignore(vm.Self, on)
	return nil
}

// Crash powers a virtual machine off as a failure of its host does, without a shutdown.
func (e *Events) Crash(id string) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	ctx := strict.Acting(e.registry)
	ctx.WithLock(vm, func() {
		for _, name := range []string{"runtime.", "summary.runtime."} {
			ctx.Update(vm, []types.PropertyChange{{Name: name + "powerState", Val: types.VirtualMachinePowerStatePoweredOff}})
		}
		for _, name := range []string{"runtime.", "summary.runtime."} {
			ctx.Update(vm, []types.PropertyChange{{Name: name + "cleanPowerOff", Val: false}})
		}
	})
	return nil
}

// SetGuestInfo sets a guestinfo variable as the guest does.
func (e *Events) SetGuestInfo(id, key, value string) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	if key == "" {
		return errors.New("key: must not be empty")
	}
	ctx := strict.Acting(e.registry)
	ctx.WithLock(vm, func() {
		ctx.Update(vm, []types.PropertyChange{guest.Written(&vm.VirtualMachine, "guestinfo."+key, value)})
	})
	return nil
}

// Post records a vCenter event of a virtual machine. Unknown kinds become an EventEx with that ID.
func (e *Events) Post(id, kind, message string) error {
	vm, err := e.vm(id)
	if err != nil {
		return err
	}
	event := types.VmEvent{Event: types.Event{
		FullFormattedMessage: message,
		Vm:                   &types.VmEventArgument{EntityEventArgument: types.EntityEventArgument{Name: vm.Name}, Vm: vm.Self},
	}}
	if vm.Runtime.Host != nil {
		if host, ok := e.registry.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
			event.Host = &types.HostEventArgument{EntityEventArgument: types.EntityEventArgument{Name: host.Name}, Host: host.Self}
		}
	}
	e.registry.EventManager().PostEvent(strict.Acting(e.registry), &types.PostEvent{EventToPost: happening(event, kind, message)})
	return nil
}

// happening creates an event of a kind.
func happening(event types.VmEvent, kind, message string) types.BaseEvent {
	elsewhere := types.HostEventArgument{EntityEventArgument: types.EntityEventArgument{Name: "esx-before"}}
	switch kind {
	case "VmMigratedEvent":
		return &types.VmMigratedEvent{VmEvent: event, SourceHost: elsewhere}
	case "DrsVmMigratedEvent":
		return &types.DrsVmMigratedEvent{VmMigratedEvent: types.VmMigratedEvent{VmEvent: event, SourceHost: elsewhere}}
	case "VmRestartedOnAlternateHostEvent":
		return &types.VmRestartedOnAlternateHostEvent{VmPoweredOnEvent: types.VmPoweredOnEvent{VmEvent: event}, SourceHost: elsewhere}
	case "VmDasBeingResetEvent":
		return &types.VmDasBeingResetEvent{VmEvent: event}
	case "VmMessageErrorEvent":
		return &types.VmMessageErrorEvent{VmEvent: event, Message: message}
	case "VmGuestRebootEvent":
		return &types.VmGuestRebootEvent{VmEvent: event}
	}
	return &types.EventEx{Event: event.Event, EventTypeId: kind, Message: message, ObjectType: event.Vm.Vm.Type, ObjectId: event.Vm.Vm.Value, ObjectName: event.Vm.Name}
}

func (e *Events) setGuest(q url.Values) (any, error) {
	id := q.Get("vm")
	switch {
	case q.Has("address"):
		return nil, e.SetAddresses(id, q["address"]...)
	case q.Has("crash"):
		return nil, e.Crash(id)
	case q.Has("ignores"):
		return nil, e.IgnoreShutdown(id, q.Get("ignores") == "true")
	case q.Has("heartbeat"):
		return nil, e.SetHeartbeat(id, types.ManagedEntityStatus(q.Get("heartbeat")))
	}
	return nil, e.SetGuestInfo(id, q.Get("key"), q.Get("value"))
}
