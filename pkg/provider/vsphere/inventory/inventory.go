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

// defaultMaxWait bounds one wait for updates, in seconds.
const defaultMaxWait = 30

// Options configure an Inventory.
type Options struct {
	// Session to vCenter.
	Session *session.Session
	// Folders returns the managed folders, each once. It is asked for at every (re)build.
	Folders func(ctx context.Context) ([]types.ManagedObjectReference, error)
	// Changed is called with the old and the new record; old is nil for a virtual machine
	// that is new, or that came into or left the managed folder, changed is nil for one
	// that is gone. It must not block.
	Changed func(old, changed *mo.VirtualMachine)
	// Synced is called whenever everything was read once. It must not block.
	Synced func()
	// Happened, if set, is called with every event of EventKinds of the managed folders, those
	// of the last ten minutes included. It must not block.
	Happened func(types.BaseEvent)
	// EventKinds are classes of events, and IDs of those that have no class of their own.
	EventKinds []string
	// MaxWait bounds one wait for updates, in seconds. Defaults to 30.
	MaxWait int32
}

// Inventory holds the last properties of the managed virtual machines.
type Inventory struct {
	opts Options
	*tasks

	mu     sync.Mutex
	synced bool
	// heard is when the stream answered last.
	heard time.Time
	// lost is why the last stream ended.
	lost error
	// complete is true as soon as everything was read once, and stays so.
	complete bool
	// began is when the reading of everything did, took how long the last one took.
	began time.Time
	took  time.Duration
	// direct are virtual machines of which a direct read has shown something else than the
	// stream has, and since the stream began those that it has not reported yet, with the
	// number of the last wait that had begun by then.
	direct map[types.ManagedObjectReference]int
	vms    map[types.ManagedObjectReference]*mo.VirtualMachine
	names  index
	// children are the records by folder and name, which is unique in it.
	children map[child]types.ManagedObjectReference
	hosts    map[types.ManagedObjectReference]host
	// watchers wait for changes of one virtual machine.
	watchers map[types.ManagedObjectReference]map[chan struct{}]struct{}
	places   places

	// rebuild ends the stream of the moment, nil while there is none.
	rebuild context.CancelCauseFunc
	// waits counts the waits for changes that have begun.
	waits int

	// events are those of vCenter; only what follows the stream uses them.
	events events

	// abandoned are the collectors of streams that ended while vCenter could not be told;
	// only Run, and what it waits for, use it and reporter.
	reporter  reporter
	abandoned []*collector
}

// New returns an Inventory; Run fills it.
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
		places:   newPlaces(),
	}
}

// Get returns the record of ref, nil if there is none.
func (i *Inventory) Get(ref types.ManagedObjectReference) *mo.VirtualMachine {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.vms[ref]
}

// child is where a virtual machine is found by its name.
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

// Child returns the record with the name in the folder, nil if there is none.
func (i *Inventory) Child(folder types.ManagedObjectReference, name string) *mo.VirtualMachine {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.vms[i.children[child{folder, name}]]
}

// Synced reports whether everything was read since the stream began.
func (i *Inventory) Synced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced
}

// Unsynced says why not everything was read since the stream began, and is nil when it
// was.
func (i *Inventory) Unsynced() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	switch {
	case i.synced:
		return nil
	case i.lost != nil:
		return fmt.Errorf("reading the inventory of vCenter: %w", i.lost)
	default:
		return errors.New("the inventory of vCenter was not read yet")
	}
}

// Heard is when the stream answered last, if only that nothing has changed; zero before.
func (i *Inventory) Heard() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.heard
}

// ReadDuration is how long the last reading of everything took; 0 before its end.
func (i *Inventory) ReadDuration() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.took
}

// Starting reports whether everything is still to be read for the first time.
func (i *Inventory) Starting() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.complete
}

// errRebuilt ends a stream that does not read all that is to be read.
var errRebuilt = errors.New("there are other folders to read")

// Rebuild reads everything anew, by other folders than before.
func (i *Inventory) Rebuild() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.rebuild != nil {
		i.rebuild(errRebuilt)
	}
}

// Forget drops the record of a virtual machine that is known to be gone.
func (i *Inventory) Forget(ref types.ManagedObjectReference) {
	i.store(ref, nil)
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.names.paths, ref)
}

// store publishes a record, or its end when vm is nil.
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
	if i.opts.Changed != nil && (old != nil || vm != nil) {
		i.opts.Changed(old, vm)
	}
}

// WaitFor returns nil when cond holds for the record of ref, which is nil when
// the virtual machine is gone, and the error of ctx when that ends first.
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

// rebuildBackoff are the pauses before a lost stream is rebuilt; the last one
// repeats.
var rebuildBackoff = []time.Duration{0, 250 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second}

func vmRef(id string) types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
}
