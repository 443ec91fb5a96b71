// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"sync"

	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// hints delivers hints to those that watch. What is sent while nobody does is
// kept, the last hint of each virtual machine, for the first that watches.
type hints struct {
	mu       sync.Mutex
	next     int
	watchers map[int]func(provider.Hint)
	kept     map[types.NamespacedName]provider.Hint
}

// watch delivers to changed until ctx is done.
func (h *hints) watch(ctx context.Context, changed func(provider.Hint)) {
	h.mu.Lock()
	if h.watchers == nil {
		h.watchers = map[int]func(provider.Hint){}
	}
	id := h.next
	h.next++
	h.watchers[id] = changed
	for _, hint := range h.kept {
		changed(hint)
	}
	h.kept = nil
	h.mu.Unlock()
	<-ctx.Done()
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, id)
}

func (h *hints) send(hint provider.Hint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) == 0 {
		if h.kept == nil {
			h.kept = map[types.NamespacedName]provider.Hint{}
		}
		h.kept[hint.Key] = hint
	}
	for _, w := range h.watchers {
		w(hint)
	}
}

// ended is called at the end of every operation.
func (p *Provider) ended(key types.NamespacedName, info operation.Info, err error) {
	if vimfault.KindOf(err) == vimfault.Cancelled {
		// Somebody wanted something else, and will look again.
		err = nil
	}
	p.attempts.ended(key, info, err)
	p.hints.send(provider.Hint{Key: key, Err: err, OperationEnded: true})
}

// changed is called for every change of the inventory. While an operation runs
// its end is the hint, and a change that no fact shows is none.
func (p *Provider) changed(old, now *mo.VirtualMachine) {
	owner, ok := observe.OwnerOf(now)
	if !ok {
		owner, ok = observe.OwnerOf(old)
	}
	if !ok {
		return
	}
	if _, busy := p.ops.Running(owner.Key); busy {
		return
	}
	if old != nil && now != nil && configVersion(old) == configVersion(now) &&
		equality.Semantic.DeepEqual(observe.Of(old, p.inventory.HostName), observe.Of(now, p.inventory.HostName)) {
		return
	}
	p.hints.send(provider.Hint{Key: owner.Key})
}

func configVersion(vm *mo.VirtualMachine) string {
	if vm.Config == nil {
		return ""
	}
	return vm.Config.ChangeVersion
}

// synced is called when the inventory was read.
func (p *Provider) synced() {
	p.mu.Lock()
	keys := make([]types.NamespacedName, 0, len(p.pending))
	for k := range p.pending {
		keys = append(keys, k)
	}
	clear(p.pending)
	p.mu.Unlock()
	for _, k := range keys {
		p.hints.send(provider.Hint{Key: k})
	}
}
