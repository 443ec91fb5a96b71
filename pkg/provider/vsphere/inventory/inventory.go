// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// defaultMaxWait is the default of Options.MaxWait, in seconds.
const defaultMaxWait = 30

// Options configure an Inventory.
type Options struct {
	// Session is the vCenter session.
	Session *session.Session
	// Folders returns the unique managed folders. It is called at every (re)build.
	Folders func(ctx context.Context) ([]types.ManagedObjectReference, error)
	// OnChange is called with the old and the new record. old is nil for a new virtual machine and for one that entered
	// or left the managed folder. The new record is nil if the virtual machine was deleted. OnChange must not block.
	OnChange func(old, changed *mo.VirtualMachine)
	// Synced is called after each full read. It must not block.
	Synced func()
	// OnEvent, if set, is called with every event of EventKinds in the managed folders, including those of the
	// last ten minutes. It must not block.
	OnEvent func(types.BaseEvent)
	// EventKinds are event classes, and IDs of events that have no class.
	EventKinds []string
	// MaxWait is the maximum duration of a wait for updates, in seconds. Defaults to 30.
	MaxWait int32
}

// Inventory caches the properties of the managed virtual machines.
type Inventory struct {
	opts Options
	*tasks

	mu     sync.Mutex
	synced bool
	// lastAnswer is the time of the stream's last response.
	lastAnswer time.Time
	// lost is the error that ended the last stream.
	lost error
	// complete is true after the first full read.
	complete bool
	// began is the start of the current full read. took is the duration of the last one.
	began time.Time
	took  time.Duration
	// direct are virtual machines that were read directly and whose state the stream has not confirmed. The value
	// is the number of the last wait that had begun at the time of the read.
	direct map[types.ManagedObjectReference]int
	vms    map[types.ManagedObjectReference]*mo.VirtualMachine
	names  index
	// children are the records by folder and name. A name is unique in its folder.
	children map[child]types.ManagedObjectReference
	hosts    map[types.ManagedObjectReference]host
	// watchers are the waiters for changes of a virtual machine.
	watchers map[types.ManagedObjectReference]map[chan struct{}]struct{}
	places   locations

	// rebuild ends the current stream. It is nil while there is no stream.
	rebuild context.CancelCauseFunc
	// waits is the number of waits for changes that have begun.
	waits int

	// events are vCenter's events. Only the goroutine that follows the stream uses them.
	events events

	// abandoned are collectors of ended streams that could not be removed from vCenter. Only Run and functions that
	// it waits for use reporter and abandoned.
	reporter  reporter
	abandoned []*collector
}

// New returns an empty Inventory. Run fills it.
func New(o Options) *Inventory {
	if o.MaxWait <= 0 {
		o.MaxWait = defaultMaxWait
	}
	return &Inventory{
		opts:     o,
		direct:   map[types.ManagedObjectReference]int{},
		vms:      map[types.ManagedObjectReference]*mo.VirtualMachine{},
		names:    newIndex(),
		children: map[child]types.ManagedObjectReference{},
		hosts:    map[types.ManagedObjectReference]host{},
		watchers: map[types.ManagedObjectReference]map[chan struct{}]struct{}{},
		tasks:    newTasks(o.Session),
		places:   newLocations(),
	}
}

// Get returns the record of ref, or nil.
func (i *Inventory) Get(ref types.ManagedObjectReference) *mo.VirtualMachine {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.vms[ref]
}

// child is the folder and name of a virtual machine.
type child struct {
	folder types.ManagedObjectReference
	name   string
}

func childOf(vm *mo.VirtualMachine) child {
	if vm.Parent == nil {
		return child{name: vm.Name}
	}
	return child{folder: *vm.Parent, name: vm.Name}
}

// Child returns the record with the name in the folder, or nil.
func (i *Inventory) Child(folder types.ManagedObjectReference, name string) *mo.VirtualMachine {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.vms[i.children[child{folder, name}]]
}

// Synced reports whether a full read was completed since the stream began.
func (i *Inventory) Synced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced
}

// Unsynced returns why no full read was completed since the stream began. It returns nil if a full read was completed.
func (i *Inventory) Unsynced() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.synced:
		return nil
	case i.lost != nil:
		return fmt.Errorf("reading vCenter's inventory: %w", i.lost)
	default:
		return errors.New("vCenter's inventory has not been read yet")
	}
}

// LastAnswer returns the time of the stream's last response, even if that contained no change. It is zero before the
// first response.
func (i *Inventory) LastAnswer() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.lastAnswer
}

// ReadDuration returns the duration of the last full read. It is 0 until the first full read is complete.
func (i *Inventory) ReadDuration() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.took
}

// Starting reports whether the first full read is not complete yet.
func (i *Inventory) Starting() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.complete
}

// errRebuilt ends a stream that does not cover all folders.
var errRebuilt = errors.New("the managed folders have changed")

// Rebuild starts a new full read after the managed folders have changed.
func (i *Inventory) Rebuild() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rebuild != nil {
		i.rebuild(errRebuilt)
	}
}

// Forget removes the record of a virtual machine that was deleted.
func (i *Inventory) Forget(ref types.ManagedObjectReference) {
	i.store(ref, nil)
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.names.paths, ref)
}

// store publishes a record. If vm is nil, it removes the record.
func (i *Inventory) store(ref types.ManagedObjectReference, vm *mo.VirtualMachine) {
	i.mu.Lock()
	old := i.vms[ref]
	if old != nil && i.children[childOf(old)] == ref {
		delete(i.children, childOf(old))
	}
	if vm == nil {
		delete(i.vms, ref)
		delete(i.direct, ref)
		i.names.drop(ref)
	} else {
		i.vms[ref] = vm
		i.names.put(ref, vm)
		i.children[childOf(vm)] = ref
	}
	for ch := range i.watchers[ref] {
		select {
		case ch <- struct{}{}:
		default:
		}
	}
	i.mu.Unlock()
	if i.opts.OnChange != nil && (old != nil || vm != nil) {
		i.opts.OnChange(old, vm)
	}
}

// WaitFor waits until cond is true for the record of ref. The record is nil if the virtual machine was deleted. It
// returns the error of ctx if that ends first.
func (i *Inventory) WaitFor(ctx context.Context, ref types.ManagedObjectReference, cond func(*mo.VirtualMachine) bool) error {
	ch := make(chan struct{}, 1)
	i.mu.Lock()
	if i.watchers[ref] == nil {
		i.watchers[ref] = map[chan struct{}]struct{}{}
	}
	i.watchers[ref][ch] = struct{}{}
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		delete(i.watchers[ref], ch)
		if len(i.watchers[ref]) == 0 {
			delete(i.watchers, ref)
		}
	}()
	for !cond(i.Get(ref)) {
		select {
		case <-ch:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// rebuildBackoff are the pauses before a lost stream is rebuilt. The last one repeats.
var rebuildBackoff = []time.Duration{0, 250 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second}

func vmRef(id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
}
