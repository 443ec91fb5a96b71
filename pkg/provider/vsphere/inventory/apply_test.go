// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"testing"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// The parts of a large first update set are in any order: all virtual machines may be before the hosts.
func TestUpdate_PublishesHostsBeforeVirtualMachines(t *testing.T) {
	simulator.Test(func(ctx context.Context, c *vim25.Client) {
		vms, err := find.NewFinder(c).VirtualMachineList(ctx, "/DC0/vm/*")
		if err != nil || len(vms) == 0 {
			t.Fatalf("%d virtual machines, error %v", len(vms), err)
		}
		published := 0
		var i *Inventory
		i = New(Options{OnChange: func(_, vm *mo.VirtualMachine) {
			published++
			if vm.Runtime.Host == nil || i.HostName(*vm.Runtime.Host) == "" {
				t.Errorf("%s was published before its host %v", vm.Name, vm.Runtime.Host)
			}
		}})
		var updates []types.ObjectUpdate
		for _, vm := range vms {
			updates = append(updates, types.ObjectUpdate{
				Kind: types.ObjectUpdateKindEnter, Obj: vm.Reference(),
				ChangeSet: []types.PropertyChange{{Name: "runtime.host.value"}}, // Part of a path: the whole property is read.
			})
		}
		if err := i.update(ctx, c, updates); err != nil {
			t.Fatal(err)
		}
		if published != len(vms) {
			t.Errorf("%d of %d virtual machines were published", published, len(vms))
		}
	})
}

func TestLearnHosts_RequestsADeletedHostOnce(t *testing.T) {
	simulator.Test(func(ctx context.Context, c *vim25.Client) {
		i := New(Options{})
		gone := types.ManagedObjectReference{Type: "HostSystem", Value: "host-gone"}
		vm := &mo.VirtualMachine{}
		vm.Runtime.Host = &gone
		machines := map[types.ManagedObjectReference]*mo.VirtualMachine{{Type: "VirtualMachine", Value: "vm-1"}: vm}
		if err := i.learnHosts(ctx, c, machines); err != nil {
			t.Fatalf("a deleted host fails the stream: %v", err)
		}
		// The cached result must be used: a nil connection would panic.
		if err := i.learnHosts(ctx, nil, machines); err != nil {
			t.Fatal(err)
		}
		if name := i.HostName(gone); name != "" {
			t.Errorf("a deleted host has the name %q", name)
		}
	})
}
