// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package compliance

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/mo"
	"k8s.io/klog/v2"
)

const (
	// Interval is the time between two questions about the same: vSphere's own check of
	// compliance is no more than a few times a day, and what is asked is its last result.
	Interval = 10 * time.Minute
	// Delay collects what changes at about the same time.
	Delay = 2 * time.Second
	// batch is how many objects are asked about at once. The service sets no limit
	// (judgement).
	batch = 200
)

// Checker asks about the compliance of virtual machines.
type Checker struct {
	// Policies returns a client of the storage policy service.
	Policies func(context.Context) (*pbm.Client, error)
	// Machines are all virtual machines in memory.
	Machines func() []*mo.VirtualMachine
	// Changed is called for one whose result is another one. It must not block.
	Changed func(*mo.VirtualMachine)
	kicked  chan struct{}
	once    sync.Once

	mu sync.Mutex
	// results have the status of each object by its key, of virtual machines by their
	// managed object IDs; asked is what had a policy then.
	results map[string]map[string]string
	asked   map[string]string
}

// Of returns the status of each object of a virtual machine by its key: vm-42 is its home,
// vm-42:2000 a disk. Nil is not known.
func (c *Checker) Of(vm *mo.VirtualMachine) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.results[vm.Self.Value]
}

// Kick makes what has got a policy be asked about soon.
func (c *Checker) Kick() {
	select {
	case c.kicks() <- struct{}{}:
	default:
	}
}

func (c *Checker) kicks() chan struct{} {
	c.once.Do(func() { c.kicked = make(chan struct{}, 1) })
	return c.kicked
}

// Run asks until ctx is done.
func (c *Checker) Run(ctx context.Context) {
	all := time.NewTicker(Interval)
	defer all.Stop()
	for {
		again := false
		select {
		case <-ctx.Done():
			return
		case <-all.C:
			again = true
		case <-c.kicks():
			select {
			case <-time.After(Delay):
			case <-ctx.Done():
				return
			}
		}
		if err := c.ask(ctx, again); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Asking whether disks are as their storage policies want them failed")
		}
	}
}

// Ask asks about all virtual machines now.
func (c *Checker) Ask(ctx context.Context) error { return c.ask(ctx, true) }

// ask asks about all virtual machines, or about those that were not asked about as they
// are now.
func (c *Checker) ask(ctx context.Context, again bool) error {
	var due []*mo.VirtualMachine
	present := map[string]bool{}
	c.mu.Lock()
	for _, vm := range c.Machines() {
		signature := Signature(vm)
		present[vm.Self.Value] = signature != ""
		if signature != "" && (again || c.asked[vm.Self.Value] != signature) {
			due = append(due, vm)
		}
	}
	maps.DeleteFunc(c.results, func(id string, _ map[string]string) bool { return !present[id] })
	maps.DeleteFunc(c.asked, func(id string, _ string) bool { return !present[id] })
	c.mu.Unlock()
	for len(due) > 0 {
		n, entities := 0, []pbmtypes.PbmServerObjectRef(nil)
		for n < len(due) && len(entities) < batch {
			entities, n = append(entities, Objects(due[n])...), n+1
		}
		if err := c.fetch(ctx, due[:n], entities); err != nil {
			return err
		}
		due = due[n:]
	}
	return nil
}

func (c *Checker) fetch(ctx context.Context, vms []*mo.VirtualMachine, entities []pbmtypes.PbmServerObjectRef) error {
	service, err := c.Policies(ctx)
	if err != nil {
		return err
	}
	answer, err := service.FetchComplianceResult(ctx, entities)
	if err != nil {
		return fmt.Errorf("reading the compliance of %d objects: %w", len(entities), err)
	}
	status := make(map[string]string, len(answer))
	for _, r := range answer {
		status[r.Entity.Key] = r.ComplianceStatus
	}
	for _, vm := range vms {
		found := map[string]string{}
		for _, o := range Objects(vm) {
			if s, ok := status[o.Key]; ok {
				found[o.Key] = s
			} else {
				found[o.Key] = string(pbmtypes.PbmComplianceStatusUnknown)
			}
		}
		if c.keep(vm, found) {
			c.Changed(vm)
		}
	}
	return nil
}

// keep remembers results, and reports whether they are others.
func (c *Checker) keep(vm *mo.VirtualMachine, found map[string]string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil {
		c.results, c.asked = map[string]map[string]string{}, map[string]string{}
	}
	id := vm.Self.Value
	c.asked[id] = Signature(vm)
	if maps.Equal(c.results[id], found) {
		return false
	}
	c.results[id] = found
	return true
}
