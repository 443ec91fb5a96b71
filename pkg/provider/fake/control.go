// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
)

// Hold keeps all operations from going on until release is called.
func (p *Provider) Hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	held := make(chan struct{})
	p.held = held
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.held == held {
			p.held = nil
			close(held)
		}
	}
}

// FailNext makes the next operation of the kind fail with err.
func (p *Provider) FailNext(kind operation.Kind, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures[kind] = append(p.failures[kind], err)
}

// SetReadable says whether the hypervisor can be read. When it can again, those
// that met it unreadable get a hint.
func (p *Provider) SetReadable(readable bool) {
	p.mu.Lock()
	p.readable = readable
	var keys []types.NamespacedName
	if readable {
		for k := range p.pending {
			keys = append(keys, k)
		}
		clear(p.pending)
	}
	p.mu.Unlock()
	for _, k := range keys {
		p.send(provider.Hint{Key: k})
	}
}

// Change changes the VM with the instance UUID behind the provider's back, as
// an administrator of the hypervisor would, and sends a hint. It reports
// whether there is one.
func (p *Provider) Change(instanceUUID string, change func(*VM)) bool {
	p.mu.Lock()
	vm, ok := p.vms[instanceUUID]
	if ok {
		change(vm)
	}
	p.mu.Unlock()
	if ok {
		p.send(provider.Hint{Key: vm.Key})
	}
	return ok
}

// VMs returns copies of all VMs by instance UUID.
func (p *Provider) VMs() map[string]VM {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string]VM, len(p.vms))
	for k, v := range p.vms {
		out[k] = *v
	}
	return out
}

// Made returns how many VMs were ever made.
func (p *Provider) Made() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.made
}

// Calls returns how many operations reached the hypervisor.
func (p *Provider) Calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls
}
