// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
)

// batchesAhead is the number of batches that are buffered while the next one is requested. vCenter delivers the
// parts of the first update set one after the other.
const batchesAhead = 2

// waitMargin is the time that the server may take beyond the requested wait, for a large response over a slow
// connection.
const waitMargin = time.Minute

// batch is one response of the stream.
type batch struct {
	updates []types.ObjectUpdate
	// wait is the number of the wait that ended with this response.
	wait int
	// outside are the updates of virtual machines outside of the managed folder.
	outside []types.ObjectUpdate
	// first is true for all parts of the first update set, last for its last part.
	first, last bool
}

// follow applies updates until an error occurs.
func (i *Inventory) follow(ctx context.Context, col *collector) error {
	g, ctx := errgroup.WithContext(ctx)
	batches := make(chan batch, batchesAhead)
	g.Go(func() error { return i.receive(ctx, col, batches) })
	g.Go(func() error { return i.applyAll(ctx, col.client, batches) })
	return g.Wait()
}

// receive waits for updates.
func (i *Inventory) receive(ctx context.Context, col *collector, out chan<- batch) error {
	version, first := "", true
	for {
		i.mu.Lock()
		i.waits++
		b := batch{wait: i.waits}
		i.mu.Unlock()
		res, err := i.wait(ctx, col, version)
		if err != nil {
			return err
		}
		i.mu.Lock()
		i.lastAnswer = time.Now()
		i.mu.Unlock()
		if set := res.Returnval; set != nil { // A nil set means that there were no changes.
			version = set.Version
			for _, f := range set.FilterSet {
				if f.Filter == col.outside {
					b.outside = append(b.outside, f.ObjectSet...)
				} else {
					b.updates = append(b.updates, f.ObjectSet...)
				}
			}
			if slices.ContainsFunc(b.updates, func(u types.ObjectUpdate) bool {
				return slices.Contains(col.folders, u.Obj) && u.Kind == types.ObjectUpdateKindLeave
			}) {
				return errFolderDeleted
			}
			if first {
				b.first, b.last = true, set.Truncated == nil || !*set.Truncated
				first = !b.last
			}
		}
		select {
		case out <- b:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wait waits for changes. Normally the server ends the wait. The timeout applies only if the server, or a proxy in
// front of it, hangs.
func (i *Inventory) wait(ctx context.Context, col *collector, version string) (*types.WaitForUpdatesExResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(i.opts.MaxWait)*time.Second+waitMargin)
	defer cancel()
	res, err := methods.WaitForUpdatesEx(ctx, col.client, &types.WaitForUpdatesEx{
		This: col.ref, Version: version,
		Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(i.opts.MaxWait)},
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for changes: %w", err)
	}
	return res, nil
}

// applyAll applies the batches in order.
func (i *Inventory) applyAll(ctx context.Context, c *vim25.Client, in <-chan batch) error {
	seen := map[types.ManagedObjectReference]struct{}{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case b := <-in:
			if err := i.applyBatch(ctx, c, b, seen); err != nil {
				return err
			}
			if b.last {
				if err := i.verifyUnseen(ctx, c, seen); err != nil {
					return err
				}
				i.finishSync(seen)
				i.reporter.rebuilt(klog.FromContext(ctx))
			}
		}
	}
}

func (i *Inventory) applyBatch(ctx context.Context, c *vim25.Client, b batch, seen map[types.ManagedObjectReference]struct{}) error {
	updates := slices.Concat(b.updates, b.outside)
	if b.first {
		for _, u := range updates {
			seen[u.Obj] = struct{}{}
		}
	}
	moved := i.noteLocations(b)
	if err := i.update(ctx, c, updates); err != nil {
		return err
	}
	i.announce(moved)
	if b.first {
		return nil
	}
	i.reportEvents()
	return i.verify(ctx, c, b.wait)
}

// verifyUnseen reads virtual machines that a rebuilt stream no longer has, because they may have been moved out of
// the managed folder. Existing ones are added to seen.
func (i *Inventory) verifyUnseen(ctx context.Context, c *vim25.Client, seen map[types.ManagedObjectReference]struct{}) error {
	existing, err := i.readDeparted(ctx, c, i.unseenRecords(seen))
	for _, ref := range existing {
		seen[ref] = struct{}{}
	}
	return err
}

// unseenRecords returns the records that were not in the first update set. It leaves out virtual machines that were read
// directly since the stream began, because they may be newer than the set.
func (i *Inventory) unseenRecords(seen map[types.ManagedObjectReference]struct{}) []types.ManagedObjectReference {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []types.ManagedObjectReference
	for ref := range i.vms {
		_, reported := seen[ref]
		_, direct := i.direct[ref]
		if !reported && !direct {
			out = append(out, ref)
		}
	}
	return out
}

// finishSync removes the records that a rebuilt stream no longer has.
func (i *Inventory) finishSync(seen map[types.ManagedObjectReference]struct{}) {
	for _, ref := range i.unseenRecords(seen) {
		i.store(ref, nil)
	}
	i.mu.Lock()
	i.synced, i.complete, i.took = true, true, time.Since(i.began)
	i.mu.Unlock()
	if i.opts.Synced != nil {
		i.opts.Synced()
	}
	i.reportEvents()
}
