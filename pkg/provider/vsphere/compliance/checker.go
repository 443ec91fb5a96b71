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
	// Interval is the time between two queries of an object. vSphere checks the compliance only a few times a day,
	// and a query returns the last result.
	Interval = 10 * time.Minute
	// Delay is how long changes are collected before a query.
	Delay = 2 * time.Second
	// batch is the maximum number of virtual machines' objects in a query. The service has no documented limit. The
	// value is an estimate.
	batch = 200
)

// Checker queries the compliance of virtual machines.
type Checker struct {
	// Policies returns a client of the storage policy service.
	Policies func(context.Context) (*pbm.Client, error)
	// Machines returns all virtual machines in the inventory.
	Machines func() []*mo.VirtualMachine
	// Changed is called for a virtual machine whose result has changed. It must not block.
	Changed func(*mo.VirtualMachine)
	kicked  chan struct{}
	once    sync.Once

	mu sync.Mutex
	// results are the objects' statuses by the virtual machine's managed object ID and by object key. queried are
	// the signatures at the time of the last query.
	results map[string]map[string]string
	queried map[string]string
}

// StatusOf returns the statuses of a virtual machine's objects by key: vm-42 is its home, vm-42:2000 a disk. It returns
// nil if they are not known.
func (c *Checker) StatusOf(vm *mo.VirtualMachine) map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.results[vm.Self.Value]
}

// Trigger schedules a query of objects that have got a policy.
func (c *Checker) Trigger() {
	select {
	case c.kicks() <- struct{}{}:
	default:
	}
}

func (c *Checker) kicks() chan struct{} {
	c.once.Do(func() { c.kicked = make(chan struct{}, 1) })
	return c.kicked
}

// Run queries the compliance until ctx is done.
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
		if err := c.query(ctx, again); err != nil && ctx.Err() == nil {
			klog.FromContext(ctx).Error(err, "Failed to query the storage policy compliance")
		}
	}
}

// QueryAll queries all virtual machines immediately.
func (c *Checker) QueryAll(ctx context.Context) error { return c.query(ctx, true) }

// query queries all virtual machines, or only those whose policies have changed since their last query.
func (c *Checker) query(ctx context.Context, again bool) error {
	var due []*mo.VirtualMachine
	present := map[string]bool{}
	c.mu.Lock()
	for _, vm := range c.Machines() {
		signature := Signature(vm)
		present[vm.Self.Value] = signature != ""
		if signature != "" && (again || c.queried[vm.Self.Value] != signature) {
			due = append(due, vm)
		}
	}
	maps.DeleteFunc(c.results, func(id string, _ map[string]string) bool { return !present[id] })
	maps.DeleteFunc(c.queried, func(id string, _ string) bool { return !present[id] })
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
		if c.store(vm, found) {
			c.Changed(vm)
		}
	}
	return nil
}

// store stores a virtual machine's results and reports whether they have changed.
func (c *Checker) store(vm *mo.VirtualMachine, found map[string]string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil {
		c.results, c.queried = map[string]map[string]string{}, map[string]string{}
	}
	id := vm.Self.Value
	c.queried[id] = Signature(vm)
	if maps.Equal(c.results[id], found) {
		return false
	}
	c.results[id] = found
	return true
}
