// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"context"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func TestPools_ReportUsage(t *testing.T) {
	model := simulator.VPX()
	model.Host, model.Machine, model.Autostart = 0, 3, false
	if err := model.Create(); err != nil {
		t.Fatal(err)
	}
	defer model.Remove()
	registry := model.Map()
	ctx := &simulator.Context{Context: context.Background(), Map: registry, Session: &simulator.Session{Registry: simulator.NewRegistry(), Map: registry}}
	k := Install(ctx)
	k.Close() // later usage is added up here
	cluster := registry.Any("ClusterComputeResource").(*simulator.ClusterComputeResource)
	pool := registry.Get(*cluster.ResourcePool).(*simulator.ResourcePool)
	has := pool.Runtime.Memory
	if hosts := int64(len(cluster.Host)); has.MaxUsage != hosts*4294430720 || has.OverallUsage != 0 {
		t.Errorf("the pool has memory %+v, with %d hosts", has, hosts)
	}
	if got := cluster.Summary.GetComputeResourceSummary().EffectiveMemory; got != has.MaxUsage>>20 {
		t.Errorf("the cluster has %d MB, want %d", got, has.MaxUsage>>20)
	}
	vm := registry.Any("VirtualMachine").(*simulator.VirtualMachine)
	ctx.WithLock(vm, func() {
		ctx.Update(vm, []types.PropertyChange{{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOn}})
	})
	select {
	case <-k.changed:
	default:
		t.Error("a power on is not noticed")
	}
	k.addUp()
	want := int64(vm.Config.Hardware.MemoryMB) << 20
	if got := pool.Summary.GetResourcePoolSummary().QuickStats.HostMemoryUsage << 20; pool.Runtime.Memory.OverallUsage != want || got != want {
		t.Errorf("%d and %d bytes are used, want %d", pool.Runtime.Memory.OverallUsage, got, want)
	}
}
