// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

var agentsRef = types.ManagedObjectReference{Type: "SlipwayGuests", Value: "guests"}

// Guests boots and stops the guests of an inventory.
type Guests struct {
	registry *simulator.Registry
	delay    time.Duration

	mu     sync.Mutex
	boots  map[types.ManagedObjectReference]*boot
	closed bool
	// identities are those of customized guests, by virtual machine.
	identities map[types.ManagedObjectReference]identity
	// customized holds the failure, or "", of the last customization of a guest.
	customized map[types.ManagedObjectReference]string
	failure    string // of customizations that begin
	cloudInit  bool
	// seeds are the seeds that guests have applied.
	seeds map[types.ManagedObjectReference]*seed
}

// boot is a guest that is booting.
type boot struct{ timer *time.Timer }

// Install boots a guest after delay in every powered-on virtual machine, including those that are already powered on.
func Install(registry *simulator.Registry, delay time.Duration) *Guests {
	g := &Guests{registry: registry, delay: delay, boots: map[types.ManagedObjectReference]*boot{},
		identities: map[types.ManagedObjectReference]identity{}, customized: map[types.ManagedObjectReference]string{}, seeds: map[types.ManagedObjectReference]*seed{}}
	registry.AddHandler(g)
	for _, e := range registry.All("VirtualMachine") {
		if vm, ok := e.(*simulator.VirtualMachine); ok && vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			g.boot(vm.Self)
		}
	}
	return g
}

// Close stops all boots in progress.
func (g *Guests) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for ref, b := range g.boots {
		b.timer.Stop()
		delete(g.boots, ref)
	}
}

// Reboot restarts the guest. The caller's context must hold the lock of the virtual machine.
func (g *Guests) Reboot(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	ctx.Update(vm, append(stopped(&vm.VirtualMachine),
		types.PropertyChange{Name: "summary.runtime.bootTime", Val: time.Now()}))
	g.boot(vm.Self)
}

func (g *Guests) boot(ref types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	if b := g.boots[ref]; b != nil {
		b.timer.Stop()
	}
	b := &boot{}
	b.timer = time.AfterFunc(g.delay, func() { g.booted(ref, b) })
	g.boots[ref] = b
}

func (g *Guests) current(ref types.ManagedObjectReference, b *boot) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.boots[ref] == b
}

func (g *Guests) booted(ref types.ManagedObjectReference, b *boot) {
	ctx := &simulator.Context{Context: context.Background(), Map: g.registry}
	vm, ok := g.registry.Get(ref).(*simulator.VirtualMachine)
	if !ok {
		g.halt(ref)
		return
	}
	ctx.WithLock(vm, func() {
		if !g.current(ref, b) || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOn {
			return
		}
		g.halt(ref)
		s := g.seedOf(&vm.VirtualMachine)
		changes := append(g.customizationEnd(&vm.VirtualMachine), running(&vm.VirtualMachine, g.identity(ref, vm.Guest), s)...)
		ctx.Update(vm, append(changes, s.advertised(&vm.VirtualMachine, changes)...))
	})
}

// CloudInit specifies whether guests apply the seed that cloud-init would find. Otherwise they have the host name of
// their virtual machine and use DHCP.
func (g *Guests) CloudInit(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cloudInit = on
}

// seedOf returns the seed of the guest. It returns nil for a seed that cloud-init cannot read.
func (g *Guests) seedOf(vm *mo.VirtualMachine) *seed {
	g.mu.Lock()
	on := g.cloudInit
	g.mu.Unlock()
	if !on {
		return nil
	}
	s, err := findSeed(vm)
	if err != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	s = s.after(g.seeds[vm.Self])
	g.seeds[vm.Self] = s
	return s
}

// identity returns the identity of the guest of ref. It is customized if now or an earlier state of the guest is
// customized.
func (g *Guests) identity(ref types.ManagedObjectReference, now *types.GuestInfo) identity {
	g.mu.Lock()
	defer g.mu.Unlock()
	if id, ok := customized(now); ok {
		if _, known := g.identities[ref]; !known {
			g.identities[ref] = id
		}
	}
	return g.identities[ref]
}

func (g *Guests) halt(ref types.ManagedObjectReference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.boots[ref]; b != nil {
		b.timer.Stop()
		delete(g.boots, ref)
	}
}

// Reference identifies the handler in the registry.
func (g *Guests) Reference() types.ManagedObjectReference { return agentsRef }

// PutObject is called by the registry for every new object. A virtual machine that is registered while its guest boots
// continues its boot.
func (g *Guests) PutObject(_ *simulator.Context, obj mo.Reference) {
	vm, ok := obj.(*simulator.VirtualMachine)
	if ok && vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn &&
		(vm.Guest == nil || vm.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)) {
		g.boot(vm.Self)
	}
}

// RemoveObject is called by the registry for every removed object.
func (g *Guests) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if ref.Type == "VirtualMachine" {
		g.halt(ref)
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(g.identities, ref)
		delete(g.seeds, ref)
		delete(g.customized, ref)
	}
}

// UpdateObject is called by the registry for every changed object, with the
// lock of the object held.
func (g *Guests) UpdateObject(ctx *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	vm, ok := obj.(*mo.VirtualMachine)
	if !ok {
		return
	}
	for _, change := range changes {
		switch change.Name {
		case "config.tools.pendingCustomization":
			if change.Val != "" { // another one is to come
				g.mu.Lock()
				delete(g.customized, vm.Self)
				g.mu.Unlock()
			}
		case "guest.customizationInfo":
			g.customizing(ctx, vm)
		}
		if change.Name != "runtime.powerState" {
			continue
		}
		ctx.Update(vm, shutdown(vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff))
		if vm.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn {
			g.boot(vm.Self)
			return
		}
		g.halt(vm.Self)
		ctx.Update(vm, stopped(vm))
		return
	}
}
