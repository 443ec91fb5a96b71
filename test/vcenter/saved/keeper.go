// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package saved

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
)

const (
	// quiet is the time without changes before a save, so that related changes are saved together.
	quiet = 200 * time.Millisecond
	// longest is the maximum delay of a save while changes continue.
	longest = time.Second
	// rest is the minimum pause between saves, as a multiple of the duration of a save. Saving uses at most a tenth of
	// the time, even for a large inventory.
	rest = 9
)

var keeperRef = types.ManagedObjectReference{Type: "SlipwayKeeper", Value: "keeper"}

// kept are the kinds of objects whose changes are saved, and tasks, because the simulator does not report changes
// that a task has made before its end.
var kept = map[string]bool{"Folder": true, "ResourcePool": true, "VirtualMachine": true, "VirtualMachineSnapshot": true, "Task": true}

// Keeper saves an inventory when it has changed.
type Keeper struct {
	save    func() error
	changed chan struct{}
	stop    chan struct{}
	ended   sync.WaitGroup
}

// Keep calls save after the inventory of registry has changed, until Close.
func Keep(ctx context.Context, registry *simulator.Registry, save func() error) *Keeper {
	k := &Keeper{save: save, changed: make(chan struct{}, 1), stop: make(chan struct{})}
	registry.AddHandler(k)
	k.ended.Go(func() { k.run(ctx) })
	return k
}

// Close returns when no save runs any more. It must be called once.
func (k *Keeper) Close() {
	close(k.stop)
	k.ended.Wait()
}

func (k *Keeper) run(ctx context.Context) {
	for k.wait(nil) {
		k.settle()
		began := time.Now()
		if err := k.save(); err != nil {
			klog.FromContext(ctx).Error(err, "Saving changes failed")
		}
		pause := time.NewTimer(rest * time.Since(began))
		select {
		case <-pause.C:
		case <-k.stop:
			pause.Stop()
			return
		}
	}
}

// wait waits for a change. It returns false if until or Close happens before a change.
func (k *Keeper) wait(until <-chan time.Time) bool {
	select {
	case <-k.changed:
		return true
	case <-until:
	case <-k.stop:
	}
	return false
}

// settle waits until nothing changes, up to a limit.
func (k *Keeper) settle() {
	deadline := time.Now().Add(longest)
	for {
		pause := min(quiet, time.Until(deadline))
		if pause <= 0 || !k.wait(time.After(pause)) {
			return
		}
	}
}

func (k *Keeper) note(ref types.ManagedObjectReference) {
	if !kept[ref.Type] {
		return
	}
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// Reference identifies the handler in the registry.
func (k *Keeper) Reference() types.ManagedObjectReference { return keeperRef }

// PutObject is called by the registry for every new object.
func (k *Keeper) PutObject(_ *simulator.Context, obj mo.Reference) { k.note(obj.Reference()) }

// UpdateObject is called by the registry for every changed object.
func (k *Keeper) UpdateObject(_ *simulator.Context, obj mo.Reference, _ []types.PropertyChange) {
	k.note(obj.Reference())
}

// RemoveObject is called by the registry for every removed object.
func (k *Keeper) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) { k.note(ref) }
