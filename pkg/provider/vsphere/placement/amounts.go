// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// amountsAge is how long amounts are used without another look: hosts report them to
// vCenter every 20 seconds (the interval of its real-time statistics).
const amountsAge = 20 * time.Second

// Amounts are what a zone has.
type Amounts struct {
	// Capacity is what hosts that can run virtual machines, within the limits of the
	// resource pools, and datastores have; Free is what is not in use of it.
	Capacity, Free provider.Resources
	// Hosts is the number of hosts that can run virtual machines.
	Hosts int32
	// CPUs is the number of logical processors of the largest host, Memory what it has in
	// bytes: no virtual machine can be larger. Zero is not known.
	CPUs   int16
	Memory int64
	// Reservable is the most memory that can be reserved in one of the pools, in bytes.
	Reservable int64
	// Space is the most that is free on one datastore, in bytes.
	Space int64
	// Clusters are those of the zone that DRS is enabled for.
	Clusters []types.ManagedObjectReference
	// At is when they were read.
	At time.Time

	// pools and datastores have what is free of each.
	pools      map[types.ManagedObjectReference]provider.Resources
	datastores map[types.ManagedObjectReference]int64
}

// Amounts returns what the zone has, as it was a short time ago.
func (r *Resolver) Amounts(ctx context.Context) (Amounts, error) {
	return r.amounts.get(ctx, "", r.readAmounts)
}

func (r *Resolver) readAmounts(ctx context.Context) (Amounts, error) {
	// What is read is not older than this.
	a := Amounts{At: time.Now(), pools: map[types.ManagedObjectReference]provider.Resources{}, datastores: map[types.ManagedObjectReference]int64{}}
	pools, err := r.readPools(ctx)
	if err != nil {
		return a, err
	}
	owners, err := r.readOwners(ctx, pools)
	if err != nil {
		return a, err
	}
	for i := range owners {
		a.addOwner(&owners[i], pools)
	}
	if err := r.readHosts(ctx, owners, &a); err != nil {
		return a, err
	}
	return a, r.readDatastores(ctx, &a)
}

const mebi = 1 << 20

// addOwner adds a cluster, or a host without one, with its pools of the zone. These may be
// beside each other and have no limits: together they have no more than the cluster.
func (a *Amounts) addOwner(o *mo.ComputeResource, pools []mo.ResourcePool) {
	var limit, used provider.Resources
	for i := range pools {
		p := &pools[i]
		if p.Owner != o.Self {
			continue
		}
		has, uses := usageOf(p)
		limit.CPU, limit.Memory = limit.CPU+has.CPU, limit.Memory+has.Memory
		used.CPU, used.Memory = used.CPU+uses.CPU, used.Memory+uses.Memory
		a.pools[p.Self] = provider.Resources{CPU: has.CPU - uses.CPU, Memory: has.Memory - uses.Memory}
		a.Reservable = max(a.Reservable, p.Runtime.Memory.UnreservedForVm)
	}
	if o.Summary == nil {
		return
	}
	s := o.Summary.GetComputeResourceSummary()
	a.Hosts += s.NumEffectiveHosts
	limit.CPU = min(limit.CPU, int64(s.EffectiveCpu)*1e6)
	limit.Memory = min(limit.Memory, s.EffectiveMemory*mebi)
	a.Capacity.CPU, a.Capacity.Memory = a.Capacity.CPU+limit.CPU, a.Capacity.Memory+limit.Memory
	a.Free.CPU += max(limit.CPU-used.CPU, 0)
	a.Free.Memory += max(limit.Memory-used.Memory, 0)
}

// usageOf is what a pool may use and what it does. The statistics of the summary have
// taken the place of overallUsage (vSphere API 6.5), which is all that some have.
func usageOf(p *mo.ResourcePool) (has, uses provider.Resources) {
	has = provider.Resources{CPU: p.Runtime.Cpu.MaxUsage * 1e6, Memory: p.Runtime.Memory.MaxUsage}
	uses = provider.Resources{CPU: p.Runtime.Cpu.OverallUsage * 1e6, Memory: p.Runtime.Memory.OverallUsage}
	if p.Summary != nil {
		if q := p.Summary.GetResourcePoolSummary().QuickStats; q != nil {
			uses = provider.Resources{CPU: q.OverallCpuUsage * 1e6, Memory: q.HostMemoryUsage * mebi}
		}
	}
	return has, uses
}

func (r *Resolver) readPools(ctx context.Context) ([]mo.ResourcePool, error) {
	refs, err := r.allPools(ctx)
	if err != nil {
		return nil, err
	}
	var pools []mo.ResourcePool
	return pools, r.retrieve(ctx, "the resource pools", refs, []string{"owner", "runtime", "summary"}, &pools)
}

// owners are the clusters, and the hosts without one, that the pools of the zone are of.
func (r *Resolver) owners(ctx context.Context) ([]mo.ComputeResource, error) {
	pools, err := r.readPools(ctx)
	if err != nil {
		return nil, err
	}
	return r.readOwners(ctx, pools)
}

func (r *Resolver) readOwners(ctx context.Context, pools []mo.ResourcePool) ([]mo.ComputeResource, error) {
	var refs []types.ManagedObjectReference
	seen := map[types.ManagedObjectReference]bool{}
	for i := range pools {
		if ref := pools[i].Owner; !seen[ref] {
			seen[ref] = true
			refs = append(refs, ref)
		}
	}
	var owners []mo.ComputeResource
	return owners, r.retrieve(ctx, "the clusters", refs, []string{"summary", "datastore", "network", "host", "configurationEx"}, &owners)
}

// readHosts looks for the largest host and for DRS.
func (r *Resolver) readHosts(ctx context.Context, owners []mo.ComputeResource, a *Amounts) error {
	var refs []types.ManagedObjectReference
	for i := range owners {
		refs = append(refs, owners[i].Host...)
		if hasDRS(&owners[i]) {
			a.Clusters = append(a.Clusters, owners[i].Self)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	var hosts []mo.HostSystem
	if err := r.retrieve(ctx, "the hosts", refs, []string{"summary.hardware", "runtime.connectionState", "runtime.inMaintenanceMode"}, &hosts); err != nil {
		return err
	}
	for i := range hosts {
		h := &hosts[i]
		if h.Runtime.ConnectionState != types.HostSystemConnectionStateConnected || h.Runtime.InMaintenanceMode || h.Summary.Hardware == nil {
			continue
		}
		a.CPUs, a.Memory = max(a.CPUs, h.Summary.Hardware.NumCpuThreads), max(a.Memory, h.Summary.Hardware.MemorySize)
	}
	return nil
}

// readDatastores adds those that can be written to.
func (r *Resolver) readDatastores(ctx context.Context, a *Amounts) error {
	refs, err := r.allDatastores(ctx)
	if err != nil {
		return err
	}
	var all []mo.Datastore
	if err := r.retrieve(ctx, "the datastores", refs, []string{"summary"}, &all); err != nil {
		return err
	}
	for i := range all {
		s := &all[i].Summary
		if !s.Accessible || s.MaintenanceMode != "" && s.MaintenanceMode != string(types.DatastoreSummaryMaintenanceModeStateNormal) {
			continue
		}
		a.Capacity.Storage += s.Capacity
		a.Free.Storage += s.FreeSpace
		a.Space = max(a.Space, s.FreeSpace)
		a.datastores[all[i].Self] = s.FreeSpace
	}
	return nil
}

// retrieve reads properties of objects.
func (r *Resolver) retrieve(ctx context.Context, what string, refs []types.ManagedObjectReference, paths []string, into any) error {
	c, err := r.opts.Session.Vim(ctx)
	if err != nil {
		return err
	}
	if err := property.DefaultCollector(c).Retrieve(ctx, refs, paths, into); err != nil {
		return fmt.Errorf("reading %s of %s: %w", what, r.site.by, err)
	}
	return nil
}
