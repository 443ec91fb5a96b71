// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// removedHost is a host that is not in the inventory, with its virtual machines.
type removedHost struct {
	host *simulator.HostSystem
	vms  []string // paths of .vmx files
}

// RemoveHost takes a host out of the inventory, and with it its virtual machines,
// which run on: host and virtual machines leave the inventory, nothing is removed from
// the host or the datastores (vCenter Server and Host Management, Remove a Managed Host
// from vCenter Server). It returns their managed object IDs.
func (e *Events) RemoveHost(name string) ([]string, error) {
	ctx := strict.Acting(e.registry)
	host, err := e.host(name)
	if err != nil {
		return nil, err
	}
	cluster, ok := e.registry.Get(*host.Parent).(*simulator.ClusterComputeResource)
	if !ok {
		return nil, fmt.Errorf("host: %q is not in a cluster", name)
	}
	gone := removedHost{host: host}
	var ids []string
	for _, ref := range slices.Clone(host.Vm) {
		if vm, ok := e.registry.Get(ref).(*simulator.VirtualMachine); ok {
			path, fault := e.gate.TakeOut(ctx, vm)
			if fault != nil {
				continue // destroyed meanwhile
			}
			ids = append(ids, ref.Value)
			gone.vms = append(gone.vms, path)
		}
	}
	ctx.WithLock(cluster, func() {
		left := slices.DeleteFunc(slices.Clone(cluster.Host), func(ref types.ManagedObjectReference) bool { return ref == host.Self })
		ctx.Update(cluster, []types.PropertyChange{{Name: "host", Val: left}})
	})
	// Clients no longer see the host. It is kept for running tasks of its virtual machines.
	e.sight.Forget(host.Self)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.hosts[name] = gone
	return ids, nil
}

// AddHost adds a removed host again. The host has another managed object ID, and so have its virtual machines unless
// same is true. VMware does not document whether vCenter reuses the IDs. AddHost returns the IDs of the virtual
// machines, empty for one that cannot be restored.
func (e *Events) AddHost(name string, same bool) ([]string, error) {
	e.mu.Lock()
	back, ok := e.hosts[name]
	delete(e.hosts, name)
	e.mu.Unlock()
	if !ok {
		return nil, fmt.Errorf("host: %q was not removed", name)
	}
	ctx := strict.Acting(e.registry)
	cluster, ok := e.registry.Get(*back.host.Parent).(*simulator.ClusterComputeResource)
	if !ok {
		return nil, fmt.Errorf("host: the cluster of %q is deleted", name)
	}
	former := back.host.Self
	e.registry.NewEntity(back.host)
	back.host.Summary.Host = &back.host.Self
	back.host.Vm = nil
	e.registry.Put(back.host)
	ctx.WithLock(cluster, func() {
		ctx.Update(cluster, []types.PropertyChange{{Name: "host", Val: append(slices.Clone(cluster.Host), back.host.Self)}})
	})
	for _, ref := range back.host.Datastore {
		if ds, ok := e.registry.Get(ref).(*simulator.Datastore); ok {
			ctx.WithLock(ds, func() {
				for i := range ds.Host {
					if ds.Host[i].Key == former {
						ds.Host[i].Key = back.host.Self
					}
				}
			})
		}
	}
	var ids []string
	var failed []error
	for _, path := range back.vms {
		at := strict.Placement{Host: &back.host.Self, Former: same}
		ref, fault := e.gate.PutBack(ctx, path, at)
		if taken, ok := fault.(*types.DuplicateName); ok {
			at.Name = taken.Name + " (1)" // judgement: how vCenter names it is not documented
			ref, fault = e.gate.PutBack(ctx, path, at)
		}
		if fault != nil {
			failed = append(failed, strict.Failed("register "+path, fault))
		}
		ids = append(ids, ref.Value)
	}
	return ids, errors.Join(failed...)
}

func (e *Events) host(name string) (*simulator.HostSystem, error) {
	e.mu.Lock()
	_, away := e.hosts[name]
	e.mu.Unlock()
	for _, entity := range e.registry.All("HostSystem") {
		if host, ok := entity.(*simulator.HostSystem); ok && host.Name == name && !away {
			return host, nil
		}
	}
	return nil, fmt.Errorf("host: %q is not in the inventory", name)
}
