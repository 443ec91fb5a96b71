// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// checkHost refuses a new virtual machine without a host in a cluster without DRS: "for a
// stand-alone host or a cluster with DRS, host can be omitted, and the system selects a
// default" (API, CreateVM_Task and ImportVApp; Automation API, DeploymentTarget.host_id). A
// host that is given must be a member of the pool's cluster, connected, and not in maintenance
// mode. That the fault is InvalidArgument is documented for a relocation into such a cluster
// (API, VirtualMachineRelocateSpec.pool), and judgement here.
func checkHost(ctx *simulator.Context, pool types.ManagedObjectReference, host *types.ManagedObjectReference) types.BaseMethodFault {
	cluster := clusterOf(ctx, pool)
	if cluster == nil {
		return nil
	}
	if host == nil {
		if config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx); ok && (config.DrsConfig.Enabled == nil || !*config.DrsConfig.Enabled) {
			return &types.InvalidArgument{InvalidProperty: "host"}
		}
		return nil
	}
	system, ok := ctx.Map.Get(*host).(*simulator.HostSystem)
	switch {
	case !ok || !slices.Contains(cluster.Host, *host):
		return &types.InvalidArgument{InvalidProperty: "host"}
	case system.Runtime.ConnectionState != types.HostSystemConnectionStateConnected:
		return &types.HostNotConnected{}
	case system.Runtime.InMaintenanceMode:
		return &types.InvalidState{}
	}
	return nil
}

// clusterOf returns the cluster of a resource pool, nil for that of a stand-alone host.
func clusterOf(ctx *simulator.Context, pool types.ManagedObjectReference) *simulator.ClusterComputeResource {
	for {
		obj := ctx.Map.Get(pool)
		if cluster, ok := obj.(*simulator.ClusterComputeResource); ok {
			return cluster
		}
		parent := parentOf(obj)
		if parent == nil {
			return nil
		}
		pool = *parent
	}
}

// compatibleHost returns a host for a clone: "if a resource pool is specified, the target pool
// represents a cluster, and this is a clone or the virtual machine is powered off, a random
// compatible host is chosen" (API, VirtualMachineRelocateSpec.host). The simulator takes the one
// with the fewest virtual machines.
func compatibleHost(ctx *simulator.Context, pool types.ManagedObjectReference, vmx string) *types.ManagedObjectReference {
	cluster := clusterOf(ctx, pool)
	if cluster == nil {
		return nil
	}
	fewest, chosen := 0, (*types.ManagedObjectReference)(nil)
	for _, ref := range cluster.Host {
		if checkHost(ctx, pool, &ref) != nil || !sees(ctx, ref, vmx) {
			continue
		}
		vms := 0
		if host, ok := ctx.Map.Get(ref).(*simulator.HostSystem); ok {
			ctx.WithLock(host, func() { vms = len(host.Vm) })
		}
		if chosen == nil || vms < fewest {
			fewest, chosen = vms, &ref
		}
	}
	return chosen
}

// checkSeen refuses files on datastores that the host of a virtual machine does not have,
// where the simulator panics ("thrown if the datastore corresponding to the given datastore
// path isn't currently accessible", API, InaccessibleDatastore). Without a host, one that has
// the datastore of the .vmx file is chosen.
func checkSeen(ctx *simulator.Context, hosts []types.ManagedObjectReference, spec *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	files := []string{}
	if spec.Files != nil && spec.Files.VmPathName != "" {
		files = append(files, spec.Files.VmPathName)
		hosts = slices.DeleteFunc(slices.Clone(hosts), func(h types.ManagedObjectReference) bool { return !sees(ctx, h, files[0]) })
		if len(hosts) == 0 {
			return inaccessible(files[0])
		}
	}
	for _, c := range spec.DeviceChange {
		change := c.GetVirtualDeviceConfigSpec()
		backing, ok := change.Device.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo)
		if ok && change.Operation != types.VirtualDeviceConfigSpecOperationRemove {
			files = append(files, backing.GetVirtualDeviceFileBackingInfo().FileName)
		}
	}
	for _, file := range files {
		for _, host := range hosts {
			if !sees(ctx, host, file) {
				return inaccessible(file)
			}
		}
	}
	return nil
}

func inaccessible(file string) types.BaseMethodFault {
	var p object.DatastorePath
	p.FromString(file)
	return &types.InaccessibleDatastore{InvalidDatastore: types.InvalidDatastore{Name: p.Datastore}}
}

// sees reports whether a host has the datastore of a file. A path without a datastore means the virtual machine's own.
func sees(ctx *simulator.Context, host types.ManagedObjectReference, file string) bool {
	var p object.DatastorePath
	system, ok := ctx.Map.Get(host).(*simulator.HostSystem)
	if !ok || !p.FromString(file) || p.Datastore == "" {
		return true
	}
	return ctx.Map.FindByName(p.Datastore, system.Datastore) != nil
}

// hostsOf returns the hosts on which a new virtual machine can be placed.
func hostsOf(ctx *simulator.Context, req *types.CreateVM_Task) []types.ManagedObjectReference {
	if req.Host != nil {
		return []types.ManagedObjectReference{*req.Host}
	}
	if cluster := clusterOf(ctx, req.Pool); cluster != nil {
		return cluster.Host
	}
	return nil
}
