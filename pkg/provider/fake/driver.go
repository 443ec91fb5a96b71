// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// VM is a virtual machine of the fake hypervisor.
type VM struct {
	// Key is the namespace and the name of the object.
	Key types.NamespacedName
	// Owner is the UID of the object, empty for a VM without an owner.
	Owner string
	// UniqueID is fake-1, fake-2 and so on.
	UniqueID string
	// PowerState is the power state.
	PowerState vmv1alpha1.PowerState
	// Crashed is true if it was powered off without a shutdown.
	Crashed bool
	// Depending is the number of disks that depend on parent disks. Unpromotable is the reason why they cannot be
	// promoted.
	Depending    int
	Unpromotable string
	// Effective is the spec that the VM has.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// Address is the address of a running VM.
	Address string
	// Restarted is the request time of the last restart.
	Restarted string
	// Record is the stored object record.
	Record driver.Record
	// MissesMetadata is true if the data of the latest record schema is missing.
	MissesMetadata bool
	// Paused is true if an administrator paused the VM.
	Paused bool
	// Trouble is the reason why the VM cannot be changed.
	Trouble string
	// Snapshots of the VM. Kept is the snapshot record that is stored in the VM itself.
	Snapshots []Snapshot
	Kept      *provider.StoredSnapshotRecord
	// Hidden is true if the VM is not visible; Copies are then visible instead. Destroyed is true if the hypervisor
	// reports that the VM was destroyed.
	Hidden    bool
	Copies    []string
	Destroyed bool
	// Stubborn is true if changes of the configuration are ignored.
	Stubborn bool
}

// Snapshot is a snapshot of a VM.
type Snapshot struct {
	// UID of its object.
	UID types.UID
	// UniqueID is snapshot- and the UID.
	UniqueID string
	// Record is the object record in the snapshot.
	Record string
	// PowerState of the VM.
	PowerState vmv1alpha1.PowerState
}

// Driver is a hypervisor in memory.
type Driver struct {
	mu       sync.Mutex
	readable bool
	sink     driver.Sink
	vms      map[string]*VM
	made     int
	failures map[driver.Kind][]error
	blocked  chan struct{}
	ran      map[driver.Kind]int
}

var _ driver.Driver = (*Driver)(nil)

// errPanic makes an operation panic instead of returning an error.
var errPanic = errors.New("panic")

// New returns a Driver that can be read.
func New() *Driver {
	return &Driver{readable: true, vms: map[string]*VM{}, failures: map[driver.Kind][]error{}, ran: map[driver.Kind]int{}}
}

// Run implements driver.Driver.
func (d *Driver) Run(ctx context.Context, sink driver.Sink) {
	d.mu.Lock()
	d.sink = sink
	d.mu.Unlock()
	sink.ReadComplete()
	<-ctx.Done()
}

// Healthy implements driver.Driver.
func (d *Driver) Healthy(context.Context) error {
	if !d.IsCurrent() {
		return errors.New("the fake hypervisor cannot be read")
	}
	return nil
}

// Starting implements driver.Driver. There is no first read.
func (d *Driver) Starting() bool { return false }

// IsCurrent implements driver.Driver.
func (d *Driver) IsCurrent() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.readable
}

// CountOwned implements driver.Driver.
func (d *Driver) CountOwned() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, vm := range d.vms {
		if vm.Owner != "" && !vm.Hidden {
			n++
		}
	}
	return n
}

// Owned implements driver.Driver.
func (d *Driver) Owned() []driver.Owned {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []driver.Owned
	for _, vm := range d.vms {
		if vm.Owner != "" && !vm.Hidden {
			out = append(out, driver.Owned{Key: vm.Key, UID: types.UID(vm.Owner), UniqueID: vm.UniqueID, Name: vm.Key.Name, Recorded: vm.Record.Head})
		}
	}
	return out
}

// Record implements driver.Driver.
func (d *Driver) Record(uniqueID string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, vm := range d.vms {
		if vm.UniqueID == uniqueID {
			return vm.Record.Text
		}
	}
	return ""
}

// Observe implements driver.Driver.
func (d *Driver) Observe(id driver.Identity) driver.Observed {
	d.mu.Lock()
	defer d.mu.Unlock()
	vm := d.vms[id.InstanceUUID]
	switch {
	case !d.readable:
		return driver.Observed{State: driver.Unknown}
	case vm == nil:
		return driver.Observed{State: driver.Absent}
	case vm.Hidden:
		return driver.Observed{State: driver.Absent, Copies: vm.Copies}
	}
	s := driver.Observed{State: driver.Exists, Machine: machine{driver: d, id: id.InstanceUUID, vm: *vm}, Ownership: driver.Foreign}
	switch vm.Owner {
	case id.UID:
		s.Ownership = driver.Own
	case "":
		s.Ownership = driver.Unowned
	}
	return s
}

// Search implements driver.Driver.
func (d *Driver) Search(ctx context.Context, id driver.Identity) (found driver.SearchResult, err error) {
	err = d.run(ctx, driver.KindSearch, func() error {
		switch vm := d.vms[id.InstanceUUID]; {
		case vm != nil && !vm.Hidden:
			found = driver.Found
		case vm != nil && vm.Destroyed && id.NeedsDestroyedCheck:
			found = driver.Destroyed
		default:
			found = driver.NotFound
		}
		return nil
	})
	return found, err
}

// CheckDesired implements driver.Driver.
func (d *Driver) CheckDesired(*driver.Desired) driver.Refusals { return driver.Refusals{} }

// Check implements driver.Driver. All prerequisites exist.
func (d *Driver) Check(context.Context, *driver.Desired, ...string) driver.Report {
	return driver.Report{}
}

// CheckZone implements driver.Driver. Every zone has enough resources.
func (d *Driver) CheckZone(_ context.Context, _ *driver.Desired, zone string) provider.ZoneCheck {
	return provider.ZoneCheck{Zone: zone}
}

// Create implements driver.Driver.
func (d *Driver) Create(w *driver.Desired, checked func(driver.Report)) driver.Operation {
	return d.operation(driver.KindCreate, func() error {
		checked(driver.Report{})
		if vm := d.vms[w.Identity.InstanceUUID]; vm != nil && !vm.Destroyed {
			return nil
		}
		d.made++
		d.vms[w.Identity.InstanceUUID] = &VM{
			Key: w.Identity.Key, Owner: w.Identity.UID, UniqueID: fmt.Sprintf("fake-%d", d.made),
			PowerState: vmv1alpha1.PoweredOff, Effective: w.Effective, Record: w.Record,
		}
		return nil
	})
}

// RemoveLeftovers implements driver.Driver. There are no leftovers.
func (d *Driver) RemoveLeftovers(driver.Identity) driver.Operation {
	op := d.operation(driver.KindDelete, func() error { return nil })
	op.Detail = "leftovers"
	return op
}

// CancelPublication implements driver.Driver.
func (d *Driver) CancelPublication(provider.PublishRequest) driver.Operation {
	return d.operation(driver.KindWithdraw, func() error { return nil })
}

// Classify implements driver.Driver.
func (d *Driver) Classify(err error) driver.Failure {
	if errors.Is(err, context.Canceled) {
		return driver.Interrupted
	}
	return driver.Refused
}

func (d *Driver) operation(kind driver.Kind, do func() error) driver.Operation {
	return driver.Operation{Kind: kind, Run: func(ctx context.Context) error { return d.run(ctx, kind, do) }}
}

// run waits while operations are blocked. It returns the next failure from FailNext, or else calls do with the lock
// held.
func (d *Driver) run(ctx context.Context, kind driver.Kind, do func() error) error {
	d.mu.Lock()
	held := d.blocked
	d.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ran[kind]++
	if errs := d.failures[kind]; len(errs) > 0 {
		d.failures[kind] = errs[1:]
		if errors.Is(errs[0], errPanic) {
			panic(kind)
		}
		return fmt.Errorf("%s: %w", kind, errs[0])
	}
	return do()
}
