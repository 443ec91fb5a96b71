// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/cmd/virtctl/login"
)

// Most is the maximum number of VMs that are read in one request.
const Most = 1000

// properties are the properties read of a VM.
var properties = []string{"name", "parent", "resourcePool", "config", "runtime", "snapshot", "guest.toolsRunningStatus"}

// Machine is a vSphere VM and its location.
type Machine struct {
	// VM holds the properties read.
	VM *mo.VirtualMachine
	// Path is the inventory path.
	Path string
	// Datacenter and Cluster are inventory paths. Cluster is the host if that is in no cluster.
	Datacenter, Cluster string
	// Folders and Pools are the inventory paths of all parents, the innermost first.
	Folders, Pools []string
	// Networks maps managed object IDs, and names of standard networks, to the inventory paths of networks.
	Networks map[string]string
}

// Inventory is the result of Read.
type Inventory struct {
	// InstanceUUID is vCenter's instance UUID.
	InstanceUUID string
	// Machines are sorted by path.
	Machines []*Machine
}

// Read reads the VMs at paths and all VMs below folders. A path without a VM is an error.
func Read(ctx context.Context, server *login.Server, paths, folders []string) (*Inventory, error) {
	c, err := server.Vim(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.Logout(context.WithoutCancel(ctx)) }() // otherwise the session expires
	refs, err := selected(ctx, c, paths, folders)
	if err != nil {
		return nil, err
	}
	out := &Inventory{InstanceUUID: c.ServiceContent.About.InstanceUuid}
	if len(refs) == 0 {
		return out, nil
	}
	t, err := readTree(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	var vms []mo.VirtualMachine
	if err := property.DefaultCollector(c.Client).Retrieve(ctx, refs, properties, &vms); err != nil {
		return nil, fmt.Errorf("reading the virtual machines: %w", err)
	}
	networks := t.networks()
	for i := range vms {
		m := t.locate(&vms[i])
		m.Networks = networks[m.Datacenter]
		out.Machines = append(out.Machines, m)
	}
	slices.SortFunc(out.Machines, func(a, b *Machine) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.VM.Self.Value, b.VM.Self.Value))
	})
	return out, nil
}

// selected returns the selected VMs, each once.
func selected(ctx context.Context, c *govmomi.Client, paths, folders []string) ([]types.ManagedObjectReference, error) {
	finder := find.NewFinder(c.Client, false)
	if dc, err := finder.DefaultDatacenter(ctx); err == nil {
		finder.SetDatacenter(dc) // for names without a path
	}
	seen := map[types.ManagedObjectReference]bool{}
	for _, p := range paths {
		vms, err := finder.VirtualMachineList(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("finding %q: %w", p, explain(err))
		}
		for _, vm := range vms {
			seen[vm.Reference()] = true
		}
	}
	for _, p := range folders {
		folder, err := finder.Folder(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("--folder %q: %w", p, explain(err))
		}
		below, err := readBelow(ctx, c.Client, folder.Reference(), []string{"VirtualMachine"})
		if err != nil {
			return nil, fmt.Errorf("--folder %q: %w", p, err)
		}
		for _, vm := range below {
			seen[vm.Obj] = true
		}
	}
	if len(seen) > Most {
		return nil, fmt.Errorf("%d virtual machines are selected, at most %d are supported: select fewer", len(seen), Most)
	}
	refs := make([]types.ManagedObjectReference, 0, len(seen))
	for ref := range seen {
		refs = append(refs, ref)
	}
	return refs, nil
}

// explain replaces a not-found error: the object may exist but be invisible to the account.
func explain(err error) error {
	var none *find.NotFoundError
	if errors.As(err, &none) {
		return errors.New("not found, or not visible to the account")
	}
	return err
}

// locate returns the location of a VM.
func (t tree) locate(vm *mo.VirtualMachine) *Machine {
	m := &Machine{VM: vm}
	if vm.Parent != nil {
		for _, at := range t.above(*vm.Parent) {
			switch at.Type {
			case "Folder":
				m.Folders = append(m.Folders, t.path(at))
			case "Datacenter":
				m.Datacenter = cmp.Or(m.Datacenter, t.path(at))
			}
		}
		m.Path = t.path(*vm.Parent)
	}
	m.Path += "/" + vm.Name
	if vm.ResourcePool != nil {
		for _, at := range t.above(*vm.ResourcePool) {
			switch at.Type {
			case "ResourcePool", "VirtualApp":
				m.Pools = append(m.Pools, t.path(at))
			case "ComputeResource", "ClusterComputeResource":
				m.Cluster = cmp.Or(m.Cluster, t.path(at))
			}
		}
	}
	return m
}

// networks returns the inventory paths of networks by managed object ID, and by name for standard networks, for each
// datacenter.
func (t tree) networks() map[string]map[string]string {
	out := map[string]map[string]string{}
	for ref, n := range t {
		switch ref.Type {
		case "Network", "DistributedVirtualPortgroup", "OpaqueNetwork":
		default:
			continue
		}
		for _, at := range t.above(ref) {
			if at.Type != "Datacenter" {
				continue
			}
			dc := t.path(at)
			if out[dc] == nil {
				out[dc] = map[string]string{}
			}
			out[dc][ref.Value] = t.path(ref)
			if ref.Type == "Network" {
				out[dc][n.name] = t.path(ref)
			}
		}
	}
	return out
}
