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
	"github.com/slipway-dev/slipway/pkg/provider/operation"
)

// VM is a virtual machine of the fake hypervisor.
type VM struct {
	// Key is namespace and name of the object.
	Key types.NamespacedName
	// Owner is the UID of the object, empty for a VM that no object has.
	Owner types.UID
	// UniqueID is fake-1, fake-2 and so on.
	UniqueID string
	// PowerState is the power state.
	PowerState vmv1alpha1.PowerState
	// Effective is the spec that the VM has.
	Effective *vmv1alpha1.VirtualMachineInstanceSpec
	// Address is the address of a VM that runs.
	Address string
	// Restarted is the last spec.nextRestartTime that was obeyed.
	Restarted string
	// Paused is true when an administrator paused the VM.
	Paused bool
}

// Provider is a provider in memory.
type Provider struct {
	ops *operation.Runner

	mu       sync.Mutex
	readable bool
	vms      map[string]*VM
	made     int
	gone     map[types.NamespacedName]types.UID
	failures map[operation.Kind][]error
	held     chan struct{}
	calls    int
	next     int
	watchers map[int]func(provider.Hint)
	kept     []provider.Hint
	pending  map[types.NamespacedName]struct{}
}

var _ provider.Provider = (*Provider)(nil)

// New returns a Provider that runs at most createSlots creates at once. Close
// ends it.
func New(createSlots int) *Provider {
	p := &Provider{
		readable: true,
		vms:      map[string]*VM{},
		gone:     map[types.NamespacedName]types.UID{},
		failures: map[operation.Kind][]error{},
		watchers: map[int]func(provider.Hint){},
		pending:  map[types.NamespacedName]struct{}{},
	}
	p.ops = operation.NewRunner(operation.Options{
		CreateSlots: createSlots,
		SlotFree:    func(k types.NamespacedName) { p.send(provider.Hint{Key: k}) },
		Ended: func(k types.NamespacedName, _ operation.Info, err error) {
			if errors.Is(err, context.Canceled) {
				err = nil
			}
			p.send(provider.Hint{Key: k, Err: err, OperationEnded: true})
		},
	})
	return p
}

// Close ends all operations.
func (p *Provider) Close() {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p.ops.Shutdown(ctx)
}

// Watch implements provider.Provider.
func (p *Provider) Watch(ctx context.Context, changed func(provider.Hint)) {
	p.mu.Lock()
	id := p.next
	p.next++
	p.watchers[id] = changed
	for _, h := range p.kept {
		changed(h)
	}
	p.kept = nil
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.watchers, id)
}

func (p *Provider) send(h provider.Hint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.watchers) == 0 {
		p.kept = append(p.kept, h)
	}
	for _, w := range p.watchers {
		w(h)
	}
}

// Forget implements provider.Provider.
func (p *Provider) Forget(key types.NamespacedName) {
	p.ops.Forget(key)
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.gone, key)
	delete(p.pending, key)
}

// Unread implements provider.Provider: there is nothing to be read first.
func (p *Provider) Unread(*vmv1alpha1.VirtualMachine) bool { return false }

// Healthy implements provider.Provider.
func (p *Provider) Healthy(context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.readable {
		return errors.New("the fake hypervisor cannot be read")
	}
	return nil
}

// CreateOrUpdateVirtualMachine implements provider.Provider.
func (p *Provider) CreateOrUpdateVirtualMachine(ctx context.Context, req *provider.Request) error {
	end, err := p.CreateOrUpdateVirtualMachineAsync(ctx, req)
	return provider.Await(ctx, end, err)
}

// CreateOrUpdateVirtualMachineAsync implements provider.Provider.
func (p *Provider) CreateOrUpdateVirtualMachineAsync(ctx context.Context, req *provider.Request) (<-chan error, error) {
	key := keyOf(req)
	defer p.ops.Passed(key)
	vm, ok := p.look(key, instanceUUID(req))
	switch {
	case !ok:
		return nil, provider.ErrUnknownState
	case vm == nil:
		return p.create(ctx, key, req)
	case vm.Owner != "" && vm.Owner != req.VM.UID:
		set(req, vmv1alpha1.ConditionCreated, false, vmv1alpha1.ReasonInvalid)
		return nil, &provider.NoRequeueError{Err: errors.New("the VM belongs to another object")}
	}
	return p.update(ctx, key, req, vm)
}

// look returns a copy of the VM, nil if there is none; ok is false while the
// hypervisor cannot be read.
func (p *Provider) look(key types.NamespacedName, uuid string) (vm *VM, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.readable {
		p.pending[key] = struct{}{}
		return nil, false
	}
	if v := p.vms[uuid]; v != nil {
		c := *v
		return &c, true
	}
	return nil, true
}

// run starts an operation, which waits while operations are held, fails if a
// failure was ordered, and else does do under the lock.
func (p *Provider) run(ctx context.Context, kind operation.Kind, do func()) error {
	p.mu.Lock()
	held := p.held
	p.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if errs := p.failures[kind]; len(errs) > 0 {
		p.failures[kind] = errs[1:]
		return fmt.Errorf("%s: %w", kind, errs[0])
	}
	do()
	return nil
}

// DeleteVirtualMachine implements provider.Provider.
func (p *Provider) DeleteVirtualMachine(ctx context.Context, req *provider.Request) error {
	key, uuid := keyOf(req), instanceUUID(req)
	p.ops.Forget(key)
	p.mu.Lock()
	uid, gone := p.gone[key]
	delete(p.gone, key)
	p.mu.Unlock()
	if gone && uid == req.VM.UID {
		return nil
	}
	if info, busy := p.ops.Running(key); busy {
		if info.Kind != operation.Delete && info.Kind != operation.Create {
			p.ops.Cancel(key)
		}
		return provider.ErrReconcileInProgress
	}
	vm, ok := p.look(key, uuid)
	switch {
	case !ok:
		return provider.ErrUnknownState
	case vm != nil && vm.Owner != req.VM.UID:
		return nil // It is none of ours.
	case vm != nil && vm.Paused:
		return provider.ErrPaused
	}
	_, err := p.ops.Start(ctx, key, operation.Info{Kind: operation.Delete}, func(ctx context.Context) error {
		return p.run(ctx, operation.Delete, func() {
			delete(p.vms, uuid)
			p.gone[key] = req.VM.UID
		})
	})
	if err != nil {
		return err
	}
	return provider.ErrReconcileInProgress
}

func keyOf(req *provider.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: req.VM.Namespace, Name: req.VM.Name}
}

func instanceUUID(req *provider.Request) string {
	if req.VM.Spec.InstanceUUID != "" {
		return req.VM.Spec.InstanceUUID
	}
	return string(req.VM.UID)
}
