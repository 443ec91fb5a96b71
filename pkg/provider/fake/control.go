// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Block blocks all operations until release is called.
func (d *Driver) Block() (release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	held := make(chan struct{})
	d.blocked = held
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.blocked == held {
			d.blocked = nil
			close(held)
		}
	}
}

// FailNext makes the next operation of the kind fail with err.
func (d *Driver) FailNext(kind driver.Kind, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.failures[kind] = append(d.failures[kind], err)
}

// SetReadable sets whether the hypervisor can be read.
func (d *Driver) SetReadable(readable bool) {
	d.mu.Lock()
	d.readable = readable
	sink := d.sink
	d.mu.Unlock()
	if readable && sink != nil {
		sink.ReadComplete()
	}
}

// Change changes the VM with the instance UUID without the engine, as an administrator of the hypervisor would. It
// reports whether the VM exists.
func (d *Driver) Change(instanceUUID string, change func(*VM)) bool {
	d.mu.Lock()
	vm, ok := d.vms[instanceUUID]
	if ok {
		change(vm)
	}
	sink := d.sink
	d.mu.Unlock()
	if ok && sink != nil {
		sink.Changed(vm.Key)
	}
	return ok
}

// VMs returns copies of all VMs by instance UUID.
func (d *Driver) VMs() map[string]VM {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[string]VM, len(d.vms))
	for k, v := range d.vms {
		out[k] = *v
	}
	return out
}

// OperationCount returns how many operations of a kind reached the hypervisor.
func (d *Driver) OperationCount(kind driver.Kind) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ran[kind]
}

// Calls returns how many operations of all kinds reached the hypervisor.
func (d *Driver) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, ran := range d.ran {
		n += ran
	}
	return n
}

// CreatedCount returns the total number of VMs that were created.
func (d *Driver) CreatedCount() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.made
}

// Forget removes all traces of a VM.
func (d *Driver) Forget(instanceUUID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.vms, instanceUUID)
}

// Stubborn sets whether a VM ignores changes of its configuration.
func (d *Driver) Stubborn(instanceUUID string, stubborn bool) {
	d.Change(instanceUUID, func(v *VM) { v.Stubborn = stubborn })
}

// PanicNext makes the next operation of the kind panic.
func (d *Driver) PanicNext(kind driver.Kind) {
	d.FailNext(kind, errPanic)
}
