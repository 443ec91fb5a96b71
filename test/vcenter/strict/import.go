// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// SetImportTime sets the duration of imports.
func (g *Gate) SetImportTime(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.importTime = d
}

// Import simulates the time for the disks of a virtual machine. During that time the VM is in the inventory with its
// methods disabled. Import continues if the client does not wait. A restart that ends it removes the virtual machine.
func (g *Gate) Import(ctx context.Context, registry *simulator.Registry, ref types.ManagedObjectReference) error {
	g.mu.Lock()
	d, ended := g.importTime, g.ended
	g.mu.Unlock()
	vm, ok := registry.Get(ref).(*simulator.VirtualMachine)
	if d == 0 || !ok {
		return nil
	}
	sim := Acting(registry)
	g.Disable(sim, vm, DisabledAtImport()...)
	done := make(chan error, 1)
	go func() {
		pause := time.NewTimer(d)
		defer pause.Stop()
		select {
		case <-pause.C:
			g.Disable(sim, vm)
			done <- nil
		case <-ended:
			g.destroyVM(sim, ref)
			done <- Failed(fmt.Sprintf("import %s", ref.Value), restarted())
		}
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
