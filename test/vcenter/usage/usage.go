// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// interval bounds how often everything is added up.
const interval = 200 * time.Millisecond

// coreShare is the divisor for the part of a core that a virtual CPU uses.
const coreShare = 10

// self carries the managed object that the searches of the simulator want.
var self = types.ManagedObjectReference{Type: "SlipwayUsage", Value: "usage"}

// Keeper updates the reported usage of pools and clusters.
type Keeper struct {
	mo.ServiceManager

	ctx     *simulator.Context
	changed chan struct{}
	done    chan struct{}
	ended   sync.WaitGroup
}

// Install computes the usage now, and again after changes until Close.
func Install(ctx *simulator.Context) *Keeper {
	k := &Keeper{ctx: ctx, changed: make(chan struct{}, 1), done: make(chan struct{})}
	k.Self = self
	ctx.Map.Put(k)
	k.addUp()
	ctx.Map.AddHandler(k)
	k.ended.Go(k.run)
	return k
}

// Close ends it.
func (k *Keeper) Close() {
	close(k.done)
	k.ended.Wait()
}

func (k *Keeper) run() {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-k.done:
			return
		case <-tick.C:
		}
		select {
		case <-k.done:
			return
		case <-k.changed:
			k.addUp()
		}
	}
}

func (k *Keeper) notice(kind string) {
	if kind != "VirtualMachine" {
		return
	}
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// PutObject is called by the registry for every new object.
func (k *Keeper) PutObject(_ *simulator.Context, obj mo.Reference) { k.notice(obj.Reference().Type) }

// RemoveObject is called by the registry for every removed object.
func (k *Keeper) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	k.notice(ref.Type)
}

// UpdateObject is called by the registry for every changed object.
func (k *Keeper) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	for _, c := range changes {
		if c.Name == "runtime.powerState" || c.Name == "resourcePool" {
			k.notice(obj.Reference().Type)
		}
	}
}

// amounts are CPU in MHz and memory in bytes.
type amounts struct{ cpu, memory int64 }

// addUp writes the usage into pools, and the capacity into pools and clusters.
func (k *Keeper) addUp() {
	used := k.used()
	for _, e := range k.ctx.Map.All("ClusterComputeResource") {
		cluster, ok := e.(*simulator.ClusterComputeResource)
		if !ok || cluster.ResourcePool == nil {
			continue
		}
		has := k.effective(cluster)
		k.ctx.WithLock(cluster, func() {
			s := cluster.Summary.GetComputeResourceSummary()
			s.EffectiveCpu, s.EffectiveMemory = int32(has.cpu), has.memory>>20
		})
		k.writeUsage(*cluster.ResourcePool, has, used)
	}
}

// effective returns the capacity of a cluster's hosts that can run virtual machines.
func (k *Keeper) effective(cluster *simulator.ClusterComputeResource) (has amounts) {
	var hosts []types.ManagedObjectReference
	k.ctx.WithLock(cluster, func() { hosts = append(hosts, cluster.Host...) })
	for _, ref := range hosts {
		host, ok := k.ctx.Map.Get(ref).(*simulator.HostSystem)
		if !ok {
			continue
		}
		k.ctx.WithLock(host, func() {
			if h := host.Summary.Hardware; h != nil && !host.Runtime.InMaintenanceMode {
				has.cpu += int64(h.CpuMhz) * int64(h.NumCpuCores)
				has.memory += h.MemorySize
			}
		})
	}
	return has
}

// used returns the usage of the powered-on virtual machines, by pool.
func (k *Keeper) used() map[types.ManagedObjectReference]amounts {
	out := map[types.ManagedObjectReference]amounts{}
	for _, e := range k.ctx.Map.All("VirtualMachine") {
		vm, ok := e.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		k.ctx.WithLock(vm, func() {
			if vm.ResourcePool == nil || vm.Config == nil || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
				return
			}
			a := out[*vm.ResourcePool]
			a.cpu += int64(vm.Config.Hardware.NumCPU) * 2000 / coreShare
			a.memory += int64(vm.Config.Hardware.MemoryMB) << 20
			out[*vm.ResourcePool] = a
		})
	}
	return out
}

// writeUsage writes the usage of a pool and its descendants, and returns their total.
func (k *Keeper) writeUsage(ref types.ManagedObjectReference, has amounts, used map[types.ManagedObjectReference]amounts) amounts {
	pool, ok := k.ctx.Map.Get(ref).(*simulator.ResourcePool)
	if !ok {
		return amounts{}
	}
	total := used[ref]
	var below []types.ManagedObjectReference
	k.ctx.WithLock(pool, func() { below = append(below, pool.ResourcePool.ResourcePool...) })
	for _, child := range below {
		a := k.writeUsage(child, has, used)
		total.cpu, total.memory = total.cpu+a.cpu, total.memory+a.memory
	}
	runtime := types.ResourcePoolRuntimeInfo{
		OverallStatus: types.ManagedEntityStatusGreen,
		Cpu:           types.ResourcePoolResourceUsage{MaxUsage: has.cpu, OverallUsage: total.cpu, UnreservedForPool: has.cpu, UnreservedForVm: has.cpu},
		Memory:        types.ResourcePoolResourceUsage{MaxUsage: has.memory, OverallUsage: total.memory, UnreservedForPool: has.memory, UnreservedForVm: has.memory},
	}
	k.ctx.WithLock(pool, func() {
		summary := *pool.Summary.GetResourcePoolSummary()
		summary.Runtime = runtime
		summary.QuickStats = &types.ResourcePoolQuickStats{OverallCpuUsage: total.cpu, HostMemoryUsage: total.memory >> 20}
		k.ctx.Update(pool, []types.PropertyChange{{Name: "runtime", Val: runtime}, {Name: "summary", Val: &summary}})
	})
	return total
}
