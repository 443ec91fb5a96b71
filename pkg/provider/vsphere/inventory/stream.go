// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
)

// Run keeps the inventory until ctx is done.
func (i *Inventory) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	for try := 0; ctx.Err() == nil; try++ {
		began := time.Now()
		err := i.stream(ctx)
		i.mu.Lock()
		i.synced, i.lost = false, err
		i.tasks.view = nil
		i.mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > time.Minute {
			try = 0
		}
		pause := rebuildBackoff[min(try, len(rebuildBackoff)-1)]
		logger.Error(err, "The stream of vSphere changes was lost and is rebuilt", "after", pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// collector is the server's part of one stream.
type collector struct {
	client *vim25.Client
	ref    types.ManagedObjectReference
	views  []types.ManagedObjectReference
}

// stream builds a collector and follows it until something fails.
func (i *Inventory) stream(ctx context.Context) error {
	c, err := i.opts.Session.Vim(ctx)
	if err != nil {
		return err
	}
	epoch := i.opts.Session.Epoch()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-epoch:
			cancel(fmt.Errorf("vCenter session was replaced"))
		case <-ctx.Done():
		}
	}()
	i.mu.Lock()
	clear(i.direct) // Whatever is there by now, the new stream reports.
	i.mu.Unlock()
	folder, err := i.opts.Folder(ctx)
	if err != nil {
		return fmt.Errorf("finding the managed folder: %w", err)
	}
	col := &collector{client: c}
	defer col.destroy()
	if err := i.build(ctx, col, folder); err != nil {
		return err
	}
	err = i.follow(ctx, col)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// build makes the views, the collector and its filter.
func (i *Inventory) build(ctx context.Context, col *collector, folder types.ManagedObjectReference) error {
	c := col.client
	vms, err := col.containerView(ctx, folder, "VirtualMachine")
	if err != nil {
		return err
	}
	hosts, err := col.containerView(ctx, c.ServiceContent.RootFolder, "HostSystem")
	if err != nil {
		return err
	}
	list, err := methods.CreateListView(ctx, c, &types.CreateListView{This: *c.ServiceContent.ViewManager})
	if err != nil {
		return fmt.Errorf("creating the view of tasks: %w", err)
	}
	col.views = append(col.views, list.Returnval)
	pc, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{This: c.ServiceContent.PropertyCollector})
	if err != nil {
		return fmt.Errorf("creating the property collector: %w", err)
	}
	col.ref = pc.Returnval
	_, err = methods.CreateFilter(ctx, c, &types.CreateFilter{
		This: col.ref,
		Spec: types.PropertyFilterSpec{
			ObjectSet: []types.ObjectSpec{viewObject(hosts), viewObject(vms), viewObject(list.Returnval)},
			PropSet: []types.PropertySpec{
				{Type: "VirtualMachine", PathSet: streamPaths},
				{Type: "HostSystem", PathSet: []string{"name", hostSpeed}},
				{Type: "Task", PathSet: []string{"info"}},
			},
		},
	})
	if err != nil {
		return fmt.Errorf("creating the property filter: %w", err)
	}
	return i.resumeTasks(ctx, c, list.Returnval)
}

func (col *collector) containerView(ctx context.Context, root types.ManagedObjectReference, kind string) (types.ManagedObjectReference, error) {
	res, err := methods.CreateContainerView(ctx, col.client, &types.CreateContainerView{
		This: *col.client.ServiceContent.ViewManager, Container: root, Type: []string{kind}, Recursive: true,
	})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("creating the view of %s objects: %w", kind, err)
	}
	col.views = append(col.views, res.Returnval)
	return res.Returnval, nil
}

func viewObject(view types.ManagedObjectReference) types.ObjectSpec {
	return types.ObjectSpec{
		Obj:       view,
		Skip:      types.NewBool(true),
		SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: view.Type, Path: "view"}},
	}
}

// destroy removes what lives in the server; a session that is gone has done so.
func (col *collector) destroy() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if col.ref.Value != "" {
		_, _ = methods.DestroyPropertyCollector(ctx, col.client, &types.DestroyPropertyCollector{This: col.ref})
	}
	for _, v := range col.views {
		_, _ = methods.DestroyView(ctx, col.client, &types.DestroyView{This: v})
	}
}
