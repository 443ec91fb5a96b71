// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"strings"
	"sync"
	"time"

	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/action"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/create"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// shutdownGrace is how long operations may go on after the end of Run.
const shutdownGrace = 5 * time.Second

// Provider reconciles virtual machines against one vCenter.
type Provider struct {
	session   *session.Session
	inventory *inventory.Inventory
	places    *placement.Resolver
	ops       *operation.Runner
	actor     *action.Actor
	creator   *create.Creator
	attempts  *attempts
	hints     hints
	// alone is since when nobody else works on virtual machines, zero if unknown.
	alone time.Time
	// readAfter is closed when the inventory may be read, nil for at once.
	readAfter <-chan struct{}

	mu sync.Mutex
	// reports are the outcomes of checks, until a pass has put them into status.
	reports map[types.NamespacedName]checked
	// gone are deleted virtual machines, by UID, until a pass has seen it.
	gone map[types.NamespacedName]types.UID
	// pending wait for the inventory to be read.
	pending map[types.NamespacedName]struct{}
}

var _ provider.Provider = (*Provider)(nil)

// New returns a Provider that does nothing before Run.
func New(c Config) (*Provider, error) {
	s, err := session.New(session.Options{
		URL: c.URL, CAFile: c.CAFile, CAPEM: c.CAPEM, Thumbprint: c.Thumbprint,
		Credentials: c.Credentials, MaxCalls: c.MaxCalls, OnCall: c.OnCall,
	})
	if err != nil {
		return nil, err
	}
	if c.ConcurrentCreates <= 0 {
		c.ConcurrentCreates = defaultConcurrentCreates
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	p := &Provider{
		session:   s,
		alone:     c.Alone,
		readAfter: c.ReadAfter,
		attempts:  newAttempts(c.Now),
		reports:   map[types.NamespacedName]checked{},
		gone:      map[types.NamespacedName]types.UID{},
		pending:   map[types.NamespacedName]struct{}{},
	}
	p.places = placement.New(placement.Options{
		Session: s, Datacenter: c.Datacenter, ResourcePool: c.ResourcePool,
		Folder: c.Folder, Datastore: c.Datastore, Network: c.Network,
	})
	p.inventory = inventory.New(inventory.Options{
		Session: s, MaxWait: c.MaxWait, Changed: p.changed, Synced: p.synced,
		Folder: func(ctx context.Context) (vimtypes.ManagedObjectReference, error) {
			ref, _, err := p.places.Folder(ctx)
			return ref, err
		},
	})
	p.ops = operation.NewRunner(operation.Options{
		CreateSlots: c.ConcurrentCreates, Ended: p.ended, Now: c.Now,
		SlotFree: func(key types.NamespacedName) { p.hints.send(provider.Hint{Key: key}) },
	})
	p.actor = &action.Actor{Session: s, Inventory: p.inventory, GracePeriod: c.GracePeriod}
	p.creator = &create.Creator{Actor: p.actor, Places: p.places}
	return p, nil
}

// Run keeps session and inventory until ctx is done; then it ends the
// operations that run and logs out.
func (p *Provider) Run(ctx context.Context) {
	// Operations need session and stream until they have ended.
	parts, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() { p.session.Run(parts) })
	wg.Go(func() { p.readInventory(parts) })
	wg.Go(func() { p.places.Warm(ctx) })
	<-ctx.Done()
	grace, cancel := context.WithTimeout(parts, shutdownGrace)
	defer cancel()
	p.ops.Shutdown(grace)
	stop()
	wg.Wait()
	p.session.Close()
}

// readInventory keeps the inventory from when it may be read until ctx is done.
func (p *Provider) readInventory(ctx context.Context) {
	if p.readAfter != nil {
		select {
		case <-p.readAfter:
		case <-ctx.Done():
			return
		}
	}
	p.inventory.Run(ctx)
}

// Watch implements provider.Provider.
func (p *Provider) Watch(ctx context.Context, changed func(provider.Hint)) {
	p.hints.watch(ctx, changed)
}

// Healthy implements provider.Provider.
func (p *Provider) Healthy(ctx context.Context) error {
	if err := p.session.Healthy(ctx); err != nil {
		return err
	}
	return p.inventory.Unsynced()
}

// CreateOrUpdateVirtualMachine implements provider.Provider.
func (p *Provider) CreateOrUpdateVirtualMachine(ctx context.Context, req *provider.Request) error {
	end, err := p.CreateOrUpdateVirtualMachineAsync(ctx, req)
	return provider.Await(ctx, end, err)
}

// CreateOrUpdateVirtualMachineAsync implements provider.Provider.
func (p *Provider) CreateOrUpdateVirtualMachineAsync(ctx context.Context, req *provider.Request) (<-chan error, error) {
	key := keyOf(req)
	// A create slot that was offered and is not used goes to the next.
	defer p.ops.Passed(key)
	vm, state := p.inventory.Find(req.VM.Status.UniqueID, instanceUUID(req))
	if state != inventory.Unknown {
		p.known(key)
	}
	switch state {
	case inventory.Unknown:
		if p.inventory.Starting() && untried(req.VM, p.alone) {
			return p.create(ctx, key, req)
		}
		return nil, p.unknown(key)
	case inventory.Absent:
		return p.create(ctx, key, req)
	}
	return p.update(ctx, key, req, vm)
}

// unknown remembers that key wants to be called when the inventory is read.
func (p *Provider) unknown(key types.NamespacedName) error {
	p.mu.Lock()
	p.pending[key] = struct{}{}
	p.mu.Unlock()
	if p.inventory.Synced() {
		p.synced() // It was read in between.
	}
	return provider.ErrUnknownState
}

// known ends the wait for the inventory.
func (p *Provider) known(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pending, key)
}

// Unread implements provider.Provider.
func (p *Provider) Unread(vm *vmv1alpha1.VirtualMachine) bool {
	if !p.inventory.Starting() {
		return false
	}
	if _, state := p.inventory.Find(vm.Status.UniqueID, uuidOf(vm)); state != inventory.Unknown {
		return false
	}
	_ = p.unknown(types.NamespacedName{Namespace: vm.Namespace, Name: vm.Name})
	return true
}

func keyOf(req *provider.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: req.VM.Namespace, Name: req.VM.Name}
}

// instanceUUID is the identity of the virtual machine in vSphere.
func instanceUUID(req *provider.Request) string { return uuidOf(req.VM) }

func uuidOf(vm *vmv1alpha1.VirtualMachine) string {
	if vm.Spec.InstanceUUID != "" {
		return strings.ToLower(vm.Spec.InstanceUUID)
	}
	return strings.ToLower(string(vm.UID))
}
