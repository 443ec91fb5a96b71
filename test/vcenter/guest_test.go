// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func TestGuest_IsReportedOnlyWhilePoweredOn(t *testing.T) {
	ctx := testContext(t)
	s := startServer(t, Options{})
	c := connect(ctx, t, s)
	p := findPlaces(ctx, t, c)
	vm := create(ctx, t, c, p, machine("web-0"))
	other := create(ctx, t, c, p, machine("web-1"))
	seen := map[string]bool{}

	if _, err := methods.ShutdownGuest(ctx, c, &types.ShutdownGuest{This: vm.Reference()}); !fault.Is(err, &types.InvalidPowerState{}) {
		t.Errorf("shutdown of a powered-off machine: got %v, want InvalidPowerState", err)
	}
	for _, m := range []*object.VirtualMachine{vm, other} {
		task, err := m.PowerOn(ctx)
		wait(ctx, t, task, err)
	}
	for _, m := range []struct {
		ref  types.ManagedObjectReference
		host string
	}{{vm.Reference(), "web-0"}, {other.Reference(), "web-1"}} {
		err := property.Wait(ctx, property.DefaultCollector(c.Client), m.ref, []string{"guest.ipAddress"}, func(changes []types.PropertyChange) bool {
			return slices.ContainsFunc(changes, func(c types.PropertyChange) bool { return c.Val != nil && c.Val != "" })
		})
		if err != nil {
			t.Fatal(err)
		}
		var got mo.VirtualMachine
		if err := property.DefaultCollector(c.Client).RetrieveOne(ctx, m.ref, nil, &got); err != nil {
			t.Fatal(err)
		}
		if got.Guest.HostName != m.host || got.Guest.ToolsRunningStatus != "guestToolsRunning" || got.GuestHeartbeatStatus != types.ManagedEntityStatusGreen {
			t.Errorf("guest of %s: host name %q, tools %q, heartbeat %q", m.host, got.Guest.HostName, got.Guest.ToolsRunningStatus, got.GuestHeartbeatStatus)
		}
		if got.Summary.Guest.IpAddress != got.Guest.IpAddress {
			t.Errorf("summary has %q, guest %q", got.Summary.Guest.IpAddress, got.Guest.IpAddress)
		}
		if len(got.Guest.Net) != 1 || len(got.Guest.Net[0].IpAddress) != 2 || got.Guest.Net[0].MacAddress == "" {
			t.Fatalf("guest.net of %s: %+v", m.host, got.Guest.Net)
		}
		for i, text := range got.Guest.Net[0].IpAddress {
			address, err := netip.ParseAddr(text)
			if err != nil || address.Is4() != (i == 0) || seen[text] {
				t.Errorf("address %d of %s: %q (error %v, seen %t)", i, m.host, text, err, seen[text])
			}
			seen[text] = true
		}
	}

	if _, err := methods.ShutdownGuest(ctx, c, &types.ShutdownGuest{This: vm.Reference()}); err != nil {
		t.Fatalf("shutdown: %v", err)
	}
	if err := vm.WaitForPowerState(ctx, types.VirtualMachinePowerStatePoweredOff); err != nil {
		t.Fatal(err)
	}
	got := read(ctx, t, c, vm)
	if got.Guest.IpAddress != "" || len(got.Guest.Net) != 0 || got.Guest.ToolsRunningStatus != "guestToolsNotRunning" || got.GuestHeartbeatStatus != types.ManagedEntityStatusGray {
		t.Errorf("after power off: IP %q, %d networks, tools %q, heartbeat %q", got.Guest.IpAddress, len(got.Guest.Net), got.Guest.ToolsRunningStatus, got.GuestHeartbeatStatus)
	}
}
