// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// cleanupTimeout limits the cleanup after an interrupted operation.
const cleanupTimeout = time.Minute

// Publisher publishes library items in one vCenter.
type Publisher struct {
	// Session is the vCenter session, and Inventory waits for tasks.
	Session   *session.Session
	Inventory *inventory.Inventory
	// Owner identifies this server among others that publish in the same libraries. If it is empty, publishing
	// fails.
	Owner string

	// items are the items of running operations, by library and name. Only one process publishes in a vCenter.
	items sync.Map
}

// Publish publishes the VM as an item. It calls still before it changes the library. An error of still means that
// publishing is no longer allowed. It returns when the item is complete. If it is interrupted, it removes an incomplete
// item.
func (p *Publisher) Publish(ctx context.Context, pub *provider.Publication, vm types.ManagedObjectReference, still func(context.Context) error) (provider.Published, error) {
	published, err := p.publish(ctx, pub, vm, still)
	if err == nil || errors.Is(context.Cause(ctx), driver.ErrLeave) || ctx.Err() == nil && vimfault.KindOf(err) == vimfault.Temporary {
		return published, err // The next attempt finds the tasks that vSphere continues.
	}
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if left := p.tidy(cleaning, pub, true); left != nil {
		klog.FromContext(ctx).Error(left, "Failed to remove an incomplete library item", "request", pub.NamespacedName)
	}
	return published, err
}

func (p *Publisher) publish(ctx context.Context, pub *provider.Publication, vm types.ManagedObjectReference, still func(context.Context) error) (provider.Published, error) {
	none := provider.Published{}
	if p.Owner == "" {
		return none, errors.New("this server has no identity to mark published items with")
	}
	lib, err := p.library(ctx, pub)
	if err != nil {
		return none, err
	}
	name := lib + "\x00" + pub.Item
	if _, busy := p.items.LoadOrStore(name, true); busy {
		return none, &vimfault.BusyError{Message: fmt.Sprintf("another request is publishing item %q", pub.Item)}
	}
	defer p.items.Delete(name)
	if err := p.awaitTasks(ctx, pub); err != nil {
		return none, err
	}
	item, s, err := p.item(ctx, lib, pub)
	if err != nil {
		return none, err
	}
	step := next(p.Owner, pub, s)
	if step == createItem || step == recreateItem || step == createVersion {
		if err := still(ctx); err != nil {
			return none, err
		}
	}
	switch step {
	case nameTaken:
		return none, p.refused(vmv1alpha1.ReasonNameTaken, "library %q already has an item %q that was not published from namespace %q of this server: choose another name", pub.Library, pub.Item, pub.Namespace)
	case recreateItem:
		if err := p.delete(ctx, item); err != nil {
			return none, err
		}
		item = nil
	case createVersion:
		if err := p.describe(ctx, item, describe(p.Owner, pub, s.version)); err != nil {
			return none, err
		}
	case createItem, finish, done:
	}
	if step != done && step != finish {
		if item, err = p.capture(ctx, lib, item, pub, vm); err != nil {
			return none, err
		}
	}
	if step == createVersion || step == finish {
		if err := p.describe(ctx, item, describe(p.Owner, pub, "")); err != nil {
			return none, err
		}
	}
	return p.verify(ctx, item)
}

// capture creates a new version of item, or a new item if item is nil, and returns the result.
func (p *Publisher) capture(ctx context.Context, lib string, item *library.Item, pub *provider.Publication, vm types.ManagedObjectReference) (*library.Item, error) {
	req := vcenter.OVF{
		Spec:   vcenter.CreateSpec{Name: pub.Item, Description: describe(p.Owner, pub, "")},
		Source: vcenter.ResourceID{Type: vm.Type, Value: vm.Value},
		Target: vcenter.LibraryTarget{LibraryID: lib},
	}
	if item != nil {
		req.Target.LibraryItemID = item.ID
	}
	var id string
	err := p.Session.WithLongREST(ctx, "rest.CaptureLibraryItem", func(ctx context.Context, c *rest.Client) (err error) {
		id, err = vcenter.NewManager(c).CreateOVF(c.WithHeader(ctx, http.Header{activationHeader: {activation(pub)}}), req)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("creating library item %q from the vSphere VM %s: %w", pub.Item, vm.Value, err)
	}
	return p.get(ctx, id)
}

// verify reads the item's descriptor. It deletes the item if the descriptor contains settings that belong only to
// the VM.
func (p *Publisher) verify(ctx context.Context, item *library.Item) (provider.Published, error) {
	// A new reader is used, because a shared reader may have cached the previous version.
	image, err := new(descriptor.Reader).Read(ctx, p.Session, item.ID)
	if err != nil {
		return provider.Published{}, err
	}
	if setting := privateSetting(image); setting != "" {
		err := p.refused(vmv1alpha1.ReasonInvalid, "the item contained %s of the virtual machine and was deleted", setting)
		return provider.Published{}, errors.Join(err, p.delete(ctx, item))
	}
	return provider.Published{ItemID: item.ID, Version: image.Version}, nil
}

// Withdraw cancels vSphere's tasks for a request that was deleted, waits for them and removes an incomplete item.
func (p *Publisher) Withdraw(ctx context.Context, pub *provider.Publication) error {
	return p.tidy(ctx, pub, false)
}

// tidy implements Withdraw. again is true for a request that will be retried. Then an item keeps the mark of a new
// version that was not published, because without the mark the old version would seem to be the new version.
func (p *Publisher) tidy(ctx context.Context, pub *provider.Publication, again bool) error {
	if err := p.endTasks(ctx, pub); err != nil {
		return err
	}
	lib, err := p.library(ctx, pub)
	var refused *provider.PublishRefusedError
	if errors.As(err, &refused) {
		return nil // A library that cannot be written contains no item of the request.
	}
	if err != nil {
		return err
	}
	item, s, err := p.item(ctx, lib, pub)
	if errors.As(err, &refused) {
		return nil
	}
	m, _ := markOf(s.description)
	switch {
	case err != nil:
		return err
	case item == nil || m.server != p.Owner || m.namespace != pub.Namespace || m.request != string(pub.UID):
		return nil
	case m.replaces != "" && again:
		return nil
	case m.replaces != "":
		return p.describe(ctx, item, describe(p.Owner, pub, "")) // The item has its old or its new content.
	case !s.hasContent:
		return p.delete(ctx, item)
	}
	return nil
}

func (p *Publisher) refused(reason, format string, args ...any) error {
	return &provider.PublishRefusedError{Condition: vmv1alpha1.ConditionTargetValid, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
