// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
)

// amountsAge is the maximum age of cached amounts. Hosts report them to vCenter every 20 seconds, the interval of
// its real-time statistics.
const amountsAge = 20 * time.Second

// Amounts are a zone's resources.
type Amounts struct {
	// Capacity is the capacity of usable hosts, within the limits of the resource pools, and of datastores. Free is
	// the unused part.
	Capacity, Free provider.Resources
	// Hosts is the number of hosts that can run virtual machines.
	Hosts int32
	// CPUs is the number of logical processors of the largest host, Memory the memory of the largest host in bytes.
	// A virtual machine cannot be larger. Zero means not known.
	CPUs   int16
	Memory int64
	// Reservable is the maximum memory that can be reserved in one of the pools, in bytes.
	Reservable int64
	// Space is the free space of the datastore with the most free space, in bytes.
	Space int64
	// Clusters are the zone's clusters with DRS enabled.
	Clusters []types.ManagedObjectReference
	// At is the time of the read.
	At time.Time

	// pools and datastores are the free resources by managed object.
	pools      map[types.ManagedObjectReference]provider.Resources
	datastores map[types.ManagedObjectReference]int64
}

// capacity reads a zone's resources. It chooses the resource pool and the datastore with the most free resources.
type capacity struct {
	*lookup
	compute    *compute
	datastores *datastores
	// amounts are cached for a short time.
	amounts cache[Amounts]
}

// Amounts returns the zone's resources. They may be amountsAge old.
func (ca *capacity) Amounts(ctx context.Context) (Amounts, error) {
	return ca.amounts.get(ctx, "", ca.readAmounts)
}

func (ca *capacity) readAmounts(ctx context.Context) (Amounts, error) {
	// The values that are read later are not older than this.
	a := Amounts{At: time.Now(), pools: map[types.ManagedObjectReference]provider.Resources{}, datastores: map[types.ManagedObjectReference]int64{}}
	pools, err := ca.compute.readPools(ctx)
	if err != nil {
		return a, err
	}
	owners, err := ca.compute.readOwners(ctx, pools)
	if err != nil {
		return a, err
	}
	for i := range owners {
		a.addOwner(&owners[i], pools)
	}
	if err := ca.readHosts(ctx, owners, &a); err != nil {
		return a, err
	}
	return a, ca.readDatastores(ctx, &a)
}

const mebi = 1 << 20

// addOwner adds a cluster, or a standalone host, with its pools in the zone. Sibling pools without limits share the
// cluster's capacity, so their sum is limited to it.
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

// usageOf returns a pool's limit and usage. The statistics of the summary have replaced overallUsage (vSphere API
// 6.5), but some servers have only the latter.
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

// readHosts reads the size of the largest host and the clusters with DRS.
func (ca *capacity) readHosts(ctx context.Context, owners []mo.ComputeResource, a *Amounts) error {
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
	if err := ca.retrieve(ctx, "the hosts", refs, []string{"summary.hardware", "runtime.connectionState", "runtime.inMaintenanceMode"}, &hosts); err != nil {
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

// readDatastores adds the datastores that can be written to.
func (ca *capacity) readDatastores(ctx context.Context, a *Amounts) error {
	refs, err := ca.datastores.allDatastores(ctx)
	if err != nil {
		return err
	}
	var all []mo.Datastore
	if err := ca.retrieve(ctx, "the datastores", refs, []string{"summary"}, &all); err != nil {
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

// Pool returns the resource pool for a new virtual machine: the one with the most free memory.
func (ca *capacity) Pool(ctx context.Context) (types.ManagedObjectReference, error) {
	pools, err := ca.compute.allPools(ctx)
	if err != nil || len(pools) == 1 {
		return first(pools), err
	}
	has, err := ca.Amounts(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return maxOf(pools, func(ref types.ManagedObjectReference) int64 { return has.pools[ref].Memory }), nil
}

// Datastore returns the datastore for a new virtual machine: the one with the most free space.
func (ca *capacity) Datastore(ctx context.Context) (types.ManagedObjectReference, error) {
	all, err := ca.datastores.allDatastores(ctx)
	if err != nil || len(all) == 1 {
		return first(all), err
	}
	has, err := ca.Amounts(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	return maxOf(all, func(ref types.ManagedObjectReference) int64 { return has.datastores[ref] }), nil
}

func first(all []types.ManagedObjectReference) (ref types.ManagedObjectReference) {
	if len(all) > 0 {
		ref = all[0]
	}
	return ref
}

// maxOf returns the object with the largest value.
func maxOf(all []types.ManagedObjectReference, has func(types.ManagedObjectReference) int64) types.ManagedObjectReference {
	best := all[0]
	for _, ref := range all[1:] {
		if has(ref) > has(best) {
			best = ref
		}
	}
	return best
}

// Recommend returns DRS's rating for the placement of a new virtual machine, from 1 to 5. It returns 0 if DRS does not
// respond; in this case the cluster is not excluded. It returns an error with DRS's reason if DRS recommends no host.
func (ca *capacity) Recommend(ctx context.Context, clusters []types.ManagedObjectReference, config *types.VirtualMachineConfigSpec) (rating int32, err error) {
	datastores, err := ca.datastores.allDatastores(ctx)
	if err != nil {
		return 0, err
	}
	c, err := ca.session.Vim(ctx)
	if err != nil {
		return 0, err
	}
	pool, err := ca.Pool(ctx)
	if err != nil {
		return 0, err
	}
	var faults []error
	answers := 0
	for _, cluster := range clusters {
		spec := types.PlacementSpec{
			PlacementType: string(types.PlacementSpecPlacementTypeCreate), ConfigSpec: config, Datastores: datastores,
		}
		if len(clusters) == 1 {
			spec.RelocateSpec = &types.VirtualMachineRelocateSpec{Pool: &pool}
		}
		res, err := object.NewClusterComputeResource(c, cluster).PlaceVm(ctx, spec)
		if err != nil {
			continue
		}
		answers++
		for _, one := range res.Recommendations {
			rating = max(rating, one.Rating, 1)
		}
		if len(res.Recommendations) == 0 {
			faults = append(faults, errors.New(drsFault(res.DrsFault)))
		}
	}
	if rating > 0 || answers < len(clusters) {
		return rating, nil
	}
	return 0, errors.Join(faults...)
}

// drsFault returns DRS's reason for recommending no host.
func drsFault(f *types.ClusterDrsFaults) string {
	if f == nil {
		return "DRS recommends no host"
	}
	for _, by := range f.FaultsByVm {
		faults := by.GetClusterDrsFaultsFaultsByVm().Fault
		switch {
		case len(faults) == 0:
		case faults[0].LocalizedMessage != "":
			return "DRS recommends no host: " + faults[0].LocalizedMessage
		default:
			return fmt.Sprintf("DRS recommends no host: %T", faults[0].Fault)
		}
	}
	return "DRS recommends no host: " + f.Reason
}
