// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// compute resolves resource pools, and their clusters and hosts.
type compute struct {
	*lookup
	pools cache[[]types.ManagedObjectReference]
	// clusters are keyed by resource pool.
	clusters cache[cluster]
	// hosts are the hosts of clusters without DRS. They are read once for simultaneous requests and are not cached.
	hosts cache[[]mo.HostSystem]
}

// rootPools matches the root resource pools of clusters and hosts.
const rootPools = "*/Resources"

// allPools returns the zone's resource pools, at least one.
func (co *compute) allPools(ctx context.Context) ([]types.ManagedObjectReference, error) {
	return co.pools.get(ctx, "", func(ctx context.Context) ([]types.ManagedObjectReference, error) {
		f, _, c, err := co.finder(ctx)
		if err != nil {
			return nil, err
		}
		if co.site.cluster != "" {
			cluster, err := findOne(ctx, c, "cluster", co.site.cluster, "", f.ComputeResourceList)
			if err != nil {
				return nil, err
			}
			var of mo.ComputeResource
			if err := property.DefaultCollector(c).RetrieveOne(ctx, cluster.Reference(), []string{"resourcePool"}, &of); err != nil {
				return nil, fmt.Errorf("reading the resource pool of cluster %q: %w", co.site.cluster, err)
			}
			if of.ResourcePool == nil {
				return nil, &NotUsableError{Message: fmt.Sprintf("cluster %q has no resource pool", co.site.cluster)}
			}
			return []types.ManagedObjectReference{*of.ResourcePool}, nil
		}
		names := co.site.pools
		if len(names) == 0 {
			names = []string{""}
		}
		var out []types.ManagedObjectReference
		var errs []error
		for _, name := range names {
			pool, err := findOne(ctx, c, WhatPool, name, rootPools, f.ResourcePoolList)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			out = append(out, pool.Reference())
		}
		return out, errors.Join(errs...)
	})
}

func (co *compute) readPools(ctx context.Context) ([]mo.ResourcePool, error) {
	refs, err := co.allPools(ctx)
	if err != nil {
		return nil, err
	}
	var pools []mo.ResourcePool
	return pools, co.retrieve(ctx, "the resource pools", refs, []string{"owner", "runtime", "summary"}, &pools)
}

// owners returns the clusters and standalone hosts of the zone's pools.
func (co *compute) owners(ctx context.Context) ([]mo.ComputeResource, error) {
	pools, err := co.readPools(ctx)
	if err != nil {
		return nil, err
	}
	return co.readOwners(ctx, pools)
}

func (co *compute) readOwners(ctx context.Context, pools []mo.ResourcePool) ([]mo.ComputeResource, error) {
	var refs []types.ManagedObjectReference
	seen := map[types.ManagedObjectReference]bool{}
	for i := range pools {
		if ref := pools[i].Owner; !seen[ref] {
			seen[ref] = true
			refs = append(refs, ref)
		}
	}
	var owners []mo.ComputeResource
	return owners, co.retrieve(ctx, "the clusters", refs, []string{"summary", "datastore", "network", "host", "configurationEx"}, &owners)
}

// cluster is a resource pool's cluster or standalone host.
type cluster struct {
	ref  types.ManagedObjectReference
	name string
	// withoutDRS is true for a cluster in which vCenter does not choose a host for a new VM ("for a stand-alone
	// host or a cluster with DRS, host can be omitted", API, CreateVM_Task and ImportVApp; Automation API,
	// DeploymentTarget.host_id).
	withoutDRS bool
	hosts      []types.ManagedObjectReference
}

// clusterOf returns a resource pool's cluster.
func (co *compute) clusterOf(ctx context.Context, pool types.ManagedObjectReference) (cluster, error) {
	return co.clusters.get(ctx, pool.Value, func(ctx context.Context) (cluster, error) {
		var pools []mo.ResourcePool
		if err := co.retrieve(ctx, "the resource pool", []types.ManagedObjectReference{pool}, []string{"owner"}, &pools); err != nil || len(pools) == 0 {
			return cluster{}, err
		}
		var owners []mo.ComputeResource
		if err := co.retrieve(ctx, "the cluster", []types.ManagedObjectReference{pools[0].Owner}, []string{"name", "host", "configurationEx"}, &owners); err != nil || len(owners) == 0 {
			return cluster{}, err
		}
		o := &owners[0]
		return cluster{ref: o.Self, name: o.Name, hosts: o.Host, withoutDRS: o.Self.Type == "ClusterComputeResource" && !hasDRS(o)}, nil
	})
}

// hasDRS reports whether DRS is enabled for a cluster.
func hasDRS(owner *mo.ComputeResource) bool {
	c, ok := owner.ConfigurationEx.(*types.ClusterConfigInfoEx)
	return ok && c.DrsConfig.Enabled != nil && *c.DrsConfig.Enabled
}

// host returns the host of a new VM in a cluster without DRS. It chooses two usable hosts at random and returns the
// one with more free memory. It returns nil for a cluster with DRS, because vCenter chooses the host. The hosts
// are read for every VM, because a host may have entered maintenance mode.
func (co *compute) host(ctx context.Context, rep *Report, st *datastores) (*types.ManagedObjectReference, error) {
	in, err := co.clusterOf(ctx, rep.Pool)
	if err != nil || !in.withoutDRS {
		return nil, err
	}
	hosts, err := co.hosts.renew(ctx, in.ref.Value, func(ctx context.Context) ([]mo.HostSystem, error) {
		var hosts []mo.HostSystem
		return hosts, co.retrieve(ctx, "the hosts", in.hosts, []string{
			"name", "runtime.connectionState", "runtime.inMaintenanceMode", "summary.hardware", "summary.quickStats", "datastore", "network",
		}, &hosts)
	})
	if err != nil {
		return nil, err
	}
	datastores, err := st.datastoresOf(ctx, rep)
	if err != nil {
		return nil, err
	}
	var usable []*mo.HostSystem
	var problems []string
	for i := range hosts {
		if why := hostObstacle(&hosts[i], datastores, rep.Backings); why != "" {
			problems = append(problems, hosts[i].Name+" "+why)
			continue
		}
		usable = append(usable, &hosts[i])
	}
	if len(usable) == 0 {
		return nil, &NotUsableError{Message: fmt.Sprintf("cluster %q does not use DRS, and none of its hosts can run the virtual machine: %s",
			in.name, strings.Join(problems, "; "))}
	}
	best, other := usable[rand.IntN(len(usable))], usable[rand.IntN(len(usable))]
	if freeMemory(other) > freeMemory(best) {
		best = other
	}
	return &best.Self, nil
}

// hostObstacle returns why a host cannot run a new VM, or an empty string.
func hostObstacle(h *mo.HostSystem, datastores []types.ManagedObjectReference, backings map[string]types.BaseVirtualDeviceBackingInfo) string {
	switch {
	case h.Runtime.ConnectionState != types.HostSystemConnectionStateConnected:
		return "is " + string(h.Runtime.ConnectionState)
	case h.Runtime.InMaintenanceMode:
		return "is in maintenance mode"
	}
	for _, ds := range datastores {
		if !slices.Contains(h.Datastore, ds) {
			return "does not have datastore " + ds.Value
		}
	}
	for name, b := range backings {
		if network, ok := networkOf(b); ok && !slices.Contains(h.Network, network) {
			return fmt.Sprintf("does not have network %q", name)
		}
	}
	return ""
}

// networkOf returns the network of an adapter. ok is false for an opaque network, because its backing contains no
// reference.
func networkOf(b types.BaseVirtualDeviceBackingInfo) (network types.ManagedObjectReference, ok bool) {
	switch b := b.(type) {
	case *types.VirtualEthernetCardNetworkBackingInfo:
		if b.Network != nil {
			return *b.Network, true
		}
	case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
		return types.ManagedObjectReference{Type: "DistributedVirtualPortgroup", Value: b.Port.PortgroupKey}, true
	}
	return network, false
}

// freeMemory returns a host's unused memory in bytes.
func freeMemory(h *mo.HostSystem) int64 {
	if h.Summary.Hardware == nil {
		return 0
	}
	return h.Summary.Hardware.MemorySize - int64(h.Summary.QuickStats.OverallMemoryUsage)*mebi
}

// WithoutDRS returns the names of the zone's clusters without DRS.
func (co *compute) WithoutDRS(ctx context.Context) ([]string, error) {
	pools, err := co.allPools(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, pool := range pools {
		in, err := co.clusterOf(ctx, pool)
		if err != nil {
			return nil, err
		}
		if in.withoutDRS && !slices.Contains(out, in.name) {
			out = append(out, in.name)
		}
	}
	return out, nil
}
