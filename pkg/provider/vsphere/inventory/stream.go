// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Run keeps the inventory up to date until ctx is done.
func (i *Inventory) Run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	for try := 0; ctx.Err() == nil; try++ {
		began := time.Now()
		err := i.stream(ctx)
		i.mu.Lock()
		i.synced, i.lost = false, err
		i.places.view = nil
		i.mu.Unlock()
		i.tasks.pause()
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errRebuilt) {
			logger.Info("Reading the inventory again", "reason", err.Error())
			try = -1
			continue
		}
		if time.Since(began) > time.Minute {
			try = 0
		}
		pause := rebuildBackoff[min(try, len(rebuildBackoff)-1)]
		i.reporter.lost(logger, err, pause, time.Now())
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
		}
	}
}

// collector is the server-side state of a stream.
type collector struct {
	client *vim25.Client
	ref    types.ManagedObjectReference
	views  []types.ManagedObjectReference
	// histories are the event collectors.
	histories []types.ManagedObjectReference
	// folders are the managed folders. outside is the filter for virtual machines in other folders.
	folders []types.ManagedObjectReference
	outside types.ManagedObjectReference
}

// stream creates a collector and follows it until an error occurs.
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
			cancel(fmt.Errorf("the vCenter session was replaced"))
		case <-ctx.Done():
		}
	}()
	i.mu.Lock()
	i.began, i.rebuild = time.Now(), cancel
	clear(i.direct) // The new stream reports all existing virtual machines.
	i.places.reset()
	i.mu.Unlock()
	folders, err := i.opts.Folders(ctx)
	if err != nil {
		return fmt.Errorf("finding the managed folders: %w", err)
	}
	col := &collector{client: c, folders: folders}
	defer func() {
		if !col.destroy() {
			i.abandoned = append(i.abandoned, col)
		}
	}()
	if err := i.build(ctx, col); err != nil {
		return err
	}
	i.abandoned = slices.DeleteFunc(i.abandoned, (*collector).destroy)
	err = i.follow(ctx, col)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// build creates the views, the collector and its filters.
func (i *Inventory) build(ctx context.Context, col *collector) error {
	c := col.client
	// The folder itself is selected too, so that its deletion is reported. Its deletion only empties the view.
	var objects []types.ObjectSpec
	for _, folder := range col.folders {
		vms, err := col.containerView(ctx, folder, "VirtualMachine")
		if err != nil {
			return err
		}
		objects = append(objects, types.ObjectSpec{Obj: folder}, viewObject(vms))
	}
	hosts, err := col.containerView(ctx, c.ServiceContent.RootFolder, "HostSystem")
	if err != nil {
		return err
	}
	list, err := col.listView(ctx, "tasks")
	if err != nil {
		return err
	}
	elsewhere, err := col.listView(ctx, "virtual machines outside of the managed folder")
	if err != nil {
		return err
	}
	pc, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{This: c.ServiceContent.PropertyCollector})
	if err != nil {
		return fmt.Errorf("creating the property collector: %w", err)
	}
	col.ref = pc.Returnval
	objects = append(objects, i.followEvents(ctx, col)...)
	if _, err = col.filter(ctx, append(objects, viewObject(hosts), viewObject(list))...); err != nil {
		return err
	}
	if col.outside, err = col.filter(ctx, viewObject(elsewhere)); err != nil {
		return err
	}
	if err := i.resumeFollowing(ctx, c, elsewhere); err != nil {
		return err
	}
	return i.tasks.resume(ctx, c, list)
}

// filter creates a filter of the collector.
func (col *collector) filter(ctx context.Context, objects ...types.ObjectSpec) (types.ManagedObjectReference, error) {
	res, err := methods.CreateFilter(ctx, col.client, &types.CreateFilter{
		This: col.ref,
		Spec: types.PropertyFilterSpec{
			ObjectSet: objects,
			PropSet: []types.PropertySpec{
				{Type: "VirtualMachine", PathSet: paths},
				{Type: "HostSystem", PathSet: hostPaths},
				{Type: "Task", PathSet: []string{"info"}},
				{Type: "Folder", PathSet: []string{"name"}},
				{Type: "EventHistoryCollector", PathSet: []string{"latestPage"}},
			},
		},
	})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("creating the property filter: %w", err)
	}
	return res.Returnval, nil
}

func (col *collector) listView(ctx context.Context, of string) (types.ManagedObjectReference, error) {
	res, err := methods.CreateListView(ctx, col.client, &types.CreateListView{This: *col.client.ServiceContent.ViewManager})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("creating the view of %s: %w", of, err)
	}
	col.views = append(col.views, res.Returnval)
	return res.Returnval, nil
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

// destroy removes the collector from the server. It returns true if no part of it is left. A session that has ended
// has removed it too.
func (col *collector) destroy() bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	isRemoved := func(err error) bool { return err == nil || vimfault.IsRefused(err) }
	if col.ref.Value != "" {
		if _, err := methods.DestroyPropertyCollector(ctx, col.client, &types.DestroyPropertyCollector{This: col.ref}); !isRemoved(err) {
			return false
		}
	}
	for _, h := range col.histories {
		if _, err := methods.DestroyCollector(ctx, col.client, &types.DestroyCollector{This: h}); !isRemoved(err) {
			return false
		}
	}
	for _, v := range col.views {
		if _, err := methods.DestroyView(ctx, col.client, &types.DestroyView{This: v}); !isRemoved(err) {
			return false
		}
	}
	return true
}
