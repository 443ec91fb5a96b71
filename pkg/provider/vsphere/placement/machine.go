// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// machine finds the virtual machine of an object to clone, now. It is asked for by its
// instance UUID, for another vCenter may have another one of the same managed object ID.
func (r *Resolver) machine(ctx context.Context, from *provider.CloneSource) (Source, error) {
	c, err := r.opts.Session.Vim(ctx)
	if err != nil {
		return Source{}, err
	}
	what := fmt.Sprintf("VirtualMachine %q", from.Name)
	instance := true
	found, err := object.NewSearchIndex(c).FindAllByUuid(ctx, nil, from.InstanceUUID, true, &instance)
	if err != nil {
		return Source{}, fmt.Errorf("looking for %s: %w", what, err)
	}
	gone := &NotUsableError{Message: what + " is not in this vCenter, from which alone it can be cloned", Missing: true}
	var vm *mo.VirtualMachine
	for _, ref := range found {
		one, err := readSource(ctx, c, ref.Reference())
		switch {
		case err != nil:
			return Source{}, fmt.Errorf("reading %s: %w", what, err)
		case one == nil:
		case vm != nil:
			return Source{}, &NotUsableError{Message: fmt.Sprintf("%s cannot be cloned: the vSphere VMs %s and %s have its instance UUID", what, vm.Self.Value, one.Self.Value)}
		default:
			vm = one
		}
	}
	switch {
	case vm == nil:
		return Source{}, gone
	case !observe.Readable(vm) || !observe.Connected(vm):
		return Source{}, &NotUsableError{Message: what + " cannot be cloned: " + observe.Trouble(vm)}
	case observe.OwnershipOf(vm, observe.Owner{Key: from.NamespacedName, UID: string(from.UID)}) != driver.Own:
		return Source{}, gone // It is another object's, which is nobody's business here.
	case from.Snapshot == "" && vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("%s is %s, and only one that is powered off, or a snapshot of it, can be cloned", what, vm.Runtime.PowerState)}
	}
	out := Source{Template: vm.Self, Machine: true}
	if from.Snapshot != "" {
		if out.Snapshot, err = snapshotOf(vm, from.Snapshot); err != nil {
			return Source{}, err
		}
	}
	return out, nil
}

// readSource is nil for one that is gone.
func readSource(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference) (*mo.VirtualMachine, error) {
	var vm mo.VirtualMachine
	paths := []string{
		"name", "config.changeVersion", "config.instanceUuid", "config.extraConfig", "resourcePool",
		"runtime.powerState", "runtime.connectionState", "snapshot",
	}
	err := property.DefaultCollector(c).RetrieveOne(ctx, ref, paths, &vm)
	if vimfault.Gone(err, ref) {
		return nil, nil
	}
	vm.Self = ref
	return &vm, err
}

// snapshotOf is the only snapshot of that name, wherever it is in the tree: vSphere lets
// several have one name.
func snapshotOf(vm *mo.VirtualMachine, name string) (*types.ManagedObjectReference, error) {
	var found []types.ManagedObjectReference
	var others []string
	var walk func(list []types.VirtualMachineSnapshotTree)
	walk = func(list []types.VirtualMachineSnapshotTree) {
		for i := range list {
			if list[i].Name == name {
				found = append(found, list[i].Snapshot)
			} else if len(others) < maxSnapshotsTold {
				others = append(others, fmt.Sprintf("%q", list[i].Name))
			}
			walk(list[i].ChildSnapshotList)
		}
	}
	if vm.Snapshot != nil {
		walk(vm.Snapshot.RootSnapshotList)
	}
	switch {
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1:
		return nil, &NotUsableError{Message: fmt.Sprintf("%d snapshots of the virtual machine to clone have the name %q: rename all but one in vSphere", len(found), name)}
	case len(others) == 0:
		return nil, &NotUsableError{Message: fmt.Sprintf("there is no snapshot %q: the virtual machine to clone has none", name), Missing: true}
	}
	return nil, &NotUsableError{Message: fmt.Sprintf("there is no snapshot %q of the virtual machine to clone; it has %s", name, strings.Join(others, ", ")), Missing: true}
}

// maxSnapshotsTold bounds the names in a message: vSphere advises to keep no more than three
// in a chain, and allows 32.
const maxSnapshotsTold = 10
