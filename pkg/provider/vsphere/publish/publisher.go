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

// cleanupTimeout bounds the removal of what an operation leaves behind that was ended.
const cleanupTimeout = time.Minute

// Publisher makes library items in one vCenter.
type Publisher struct {
	// Session is the connection, and Inventory waits for tasks.
	Session   *session.Session
	Inventory *inventory.Inventory
	// Owner tells this server from others that publish in the same libraries. Without one
	// nothing is published.
	Owner string

	// items are those that somebody works on, by library and name. Of one vCenter one
	// process takes care.
	items sync.Map
}

// Publish makes the item from the VM, which still says that it may be published. It returns
// when the item is there, and removes what it has made when it is interrupted.
func (p *Publisher) Publish(ctx context.Context, pub *provider.Publication, vm types.ManagedObjectReference, still func(context.Context) error) (provider.Published, error) {
	made, err := p.publish(ctx, pub, vm, still)
	if err == nil || errors.Is(context.Cause(ctx), driver.ErrLeave) || ctx.Err() == nil && vimfault.KindOf(err) == vimfault.Temporary {
		return made, err // What vSphere goes on with is found by who tries again.
	}
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if left := p.tidy(cleaning, pub, true); left != nil {
		klog.FromContext(ctx).Error(left, "Removing what is half published failed", "request", pub.NamespacedName)
	}
	return made, err
}

func (p *Publisher) publish(ctx context.Context, pub *provider.Publication, vm types.ManagedObjectReference, still func(context.Context) error) (provider.Published, error) {
	none := provider.Published{}
	if p.Owner == "" {
		return none, errors.New("this server has no identity to mark what it publishes with")
	}
	lib, err := p.library(ctx, pub)
	if err != nil {
		return none, err
	}
	name := lib + "\x00" + pub.Item
	if _, busy := p.items.LoadOrStore(name, true); busy {
		return none, &vimfault.BusyError{Message: fmt.Sprintf("another request publishes item %q", pub.Item)}
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
	if step == makeNew || step == makeAnew || step == makeVersion {
		if err := still(ctx); err != nil {
			return none, err
		}
	}
	switch step {
	case taken:
		return none, p.refused(vmv1alpha1.ReasonNameTaken, "library %q has an item %q that was not published from namespace %q of this server: choose another name", pub.Library, pub.Item, pub.Namespace)
	case makeAnew:
		if err := p.delete(ctx, item); err != nil {
			return none, err
		}
		item = nil
	case makeVersion:
		if err := p.describe(ctx, item, describe(p.Owner, pub, s.version)); err != nil {
			return none, err
		}
	case makeNew, finish, done:
	}
	if step != done && step != finish {
		if item, err = p.capture(ctx, lib, item, pub, vm); err != nil {
			return none, err
		}
	}
	if step == makeVersion || step == finish {
		if err := p.describe(ctx, item, describe(p.Owner, pub, "")); err != nil {
			return none, err
		}
	}
	return p.verify(ctx, item)
}

// capture makes item, or a new one when it is nil, and returns it as it is then.
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
		return nil, fmt.Errorf("making library item %q of the vSphere VM %s: %w", pub.Item, vm.Value, err)
	}
	return p.get(ctx, id)
}

// verify reads what the descriptor of the item says, and deletes an item that tells too much.
func (p *Publisher) verify(ctx context.Context, item *library.Item) (provider.Published, error) {
	// Who reads for deployments may remember the version before.
	image, err := new(descriptor.Reader).Read(ctx, p.Session, item.ID)
	if err != nil {
		return provider.Published{}, err
	}
	if what := tells(image); what != "" {
		err := p.refused(vmv1alpha1.ReasonInvalid, "the item that vSphere has made tells %s of the virtual machine, and was deleted", what)
		return provider.Published{}, errors.Join(err, p.delete(ctx, item))
	}
	return provider.Published{ItemID: item.ID, Version: image.Version}, nil
}

// Withdraw ends what vSphere still does for a request that nobody makes any more, and
// removes what is half made. It waits for what it ends.
func (p *Publisher) Withdraw(ctx context.Context, pub *provider.Publication) error {
	return p.tidy(ctx, pub, false)
}

// tidy is Withdraw, also for a request that is tried again: then an item keeps the note of a
// new version that is not there, for without it the old one would seem to be that.
func (p *Publisher) tidy(ctx context.Context, pub *provider.Publication, again bool) error {
	if err := p.endTasks(ctx, pub); err != nil {
		return err
	}
	lib, err := p.library(ctx, pub)
	var refused *provider.PublishRefusedError
	if errors.As(err, &refused) {
		return nil // There is nothing in a library that cannot be written.
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
		return p.describe(ctx, item, describe(p.Owner, pub, "")) // It has its old content, or the new one.
	case !s.whole:
		return p.delete(ctx, item)
	}
	return nil
}

func (p *Publisher) refused(reason, format string, args ...any) error {
	return &provider.PublishRefusedError{Condition: vmv1alpha1.ConditionTargetValid, Reason: reason, Message: fmt.Sprintf(format, args...)}
}
