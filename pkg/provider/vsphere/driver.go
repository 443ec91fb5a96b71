// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/equality"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/action"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/catalogue"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/compliance"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/create"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/imagefiles"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/inventory"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/publish"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Driver speaks to one vCenter.
type Driver struct {
	name      string
	session   *session.Session
	inventory *inventory.Inventory
	actor     *action.Actor
	images    *catalogue.Catalogue
	files     *imagefiles.Files
	// flags are the zone that the Config describes.
	flags       placement.Options
	zones       zones
	descriptors *descriptor.Reader
	compliance  compliance.Checker
	publisher   *publish.Publisher
	sink        driver.Sink
}

var _ driver.Driver = (*Driver)(nil)

// New returns a Driver that does nothing before Run.
func New(c Config) (*Driver, error) {
	s, err := session.New(c.session())
	if err != nil {
		return nil, err
	}
	d := &Driver{name: cmp.Or(c.Name, vmv1alpha1.DefaultVCenter), session: s, flags: c.placement(s), descriptors: &descriptor.Reader{}}
	d.inventory = inventory.New(inventory.Options{
		Session: s, MaxWait: c.MaxWait, Changed: d.changed, Synced: func() { d.sink.Read() },
		Folders: d.folders, EventKinds: eventKinds, Happened: d.happened(c.Happened),
	})
	d.compliance.Policies, d.compliance.Machines = s.Policies, d.inventory.All
	d.compliance.Changed = func(vm *mo.VirtualMachine) {
		if owner, ok := observe.OwnerOf(vm); ok {
			d.sink.Changed(owner.Key)
		}
	}
	d.actor = &action.Actor{Session: s, Inventory: d.inventory, GracePeriod: c.GracePeriod, Detached: d.detached(c.Happened)}
	d.images = &catalogue.Catalogue{Session: s, Places: d.anyPlaces, Descriptors: d.descriptors}
	d.publisher = &publish.Publisher{Session: s, Inventory: d.inventory, Owner: c.Owner}
	began := time.Now()
	d.files = imagefiles.New(imagefiles.Options{
		Session: s, Inventory: d.inventory, Descriptors: d.descriptors, Owner: c.Owner,
		Making: func(ctx context.Context) (string, error) { return d.creator("").Making(ctx, began) },
	})
	d.SetZones(map[string]*vmv1alpha1.ZoneSpec{vmv1alpha1.DefaultZone: nil})
	return d, nil
}

// Images tells what this vCenter has to make virtual machines from.
func (d *Driver) Images() provider.Images { return d.images }

// ImageFiles keeps copies of images in this vCenter.
func (d *Driver) ImageFiles() provider.ImageFiles { return d.files }

// Run implements driver.Driver.
func (d *Driver) Run(ctx context.Context, sink driver.Sink) {
	d.sink = sink
	var wg sync.WaitGroup
	wg.Go(func() { d.session.Run(ctx) })
	wg.Go(func() { d.inventory.Run(ctx) })
	wg.Go(func() { d.warm(ctx) })
	wg.Go(func() { d.compliance.Run(ctx) })
	wg.Wait()
	d.session.Close()
}

// changed is called for every change of the inventory. One that changes neither the configuration
// nor the observed state is ignored.
func (d *Driver) changed(old, now *mo.VirtualMachine) {
	owner, ok := observe.OwnerOf(now)
	if !ok {
		owner, ok = observe.OwnerOf(old)
	}
	if !ok {
		return
	}
	if s := compliance.Signature(now); s != "" && s != compliance.Signature(old) {
		d.compliance.Kick()
	}
	if old != nil && now != nil && reflect.DeepEqual(old.Config, now.Config) &&
		equality.Semantic.DeepEqual(observe.Of(old, d.inventory.HostName), observe.Of(now, d.inventory.HostName)) {
		return
	}
	if question(old) != question(now) {
		d.sink.Blocked(owner.Key)
		return
	}
	d.sink.Changed(owner.Key)
}

// question identifies what vSphere asks and blocks the VM for.
func question(vm *mo.VirtualMachine) string {
	if vm == nil || vm.Runtime.Question == nil {
		return ""
	}
	return vm.Runtime.Question.Id
}

// Healthy implements driver.Driver.
func (d *Driver) Healthy(ctx context.Context) error {
	if err := d.session.Healthy(ctx); err != nil {
		return err
	}
	return d.inventory.Unsynced()
}

// Info tells of the present login; it is zero before the first.
func (d *Driver) Info() session.Info { return d.session.Info() }

// Connected returns nil while vCenter answers, read or not.
func (d *Driver) Connected(ctx context.Context) error { return d.session.Healthy(ctx) }

// Skew is how far the clock of vCenter is ahead of that of the server, as it was measured last;
// known is false before that.
func (d *Driver) Skew() (skew time.Duration, known bool) { return d.session.Skew() }

// SkewWarning measures the skew if it never was, and describes one that operators should know of;
// else it is empty.
func (d *Driver) SkewWarning(ctx context.Context) string {
	skew, known := d.session.Skew()
	if !known {
		skew, _ = d.session.MeasureSkew(ctx)
	}
	return session.SkewWarning(skew)
}

// ReadDuration is how long it took to read the inventory the last time; 0 before its end.
func (d *Driver) ReadDuration() time.Duration { return d.inventory.ReadDuration() }

// Heard is when the stream of changes answered last; zero before the first time.
func (d *Driver) Heard() time.Time { return d.inventory.Heard() }

// Starting implements driver.Driver.
func (d *Driver) Starting() bool { return d.inventory.Starting() }

// Synced implements driver.Driver.
func (d *Driver) Synced() bool { return d.inventory.Synced() }

// Managed implements driver.Driver.
func (d *Driver) Managed() int { return d.inventory.Managed() }

// Owned implements driver.Driver.
func (d *Driver) Owned() []driver.Owned { return d.inventory.Owned() }

// Record implements driver.Driver.
func (d *Driver) Record(uniqueID string) string {
	vm := d.inventory.Get(vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: uniqueID})
	return observe.ExtraConfig(vm, observe.RecordKey)
}

// Look implements driver.Driver.
func (d *Driver) Look(id driver.Identity) driver.Sighting {
	names := namesOf(id)
	if folder, ok := d.places(id.Zone).KnownNamespaceFolder(id.Key.Namespace); ok {
		names.Folder = folder
	}
	f := d.inventory.Find(names)
	switch f.State {
	case inventory.Absent:
		if err := d.unread(id.Zone); err != nil {
			return driver.Sighting{State: driver.Unknown, Why: "zone " + id.Zone + " could not be read: " + err.Error()}
		}
		return driver.Sighting{State: driver.Absent, Copies: described(f.Copies)}
	case inventory.Exists:
		return driver.Sighting{State: driver.Exists, Machine: d.machine(f.VM), Ownership: ownership(f.VM, ownerOf(id))}
	case inventory.Unknown:
	}
	return driver.Sighting{State: driver.Unknown, Why: f.Why}
}

// ownership says whose vm is. One that cannot be read was found because it was the
// object's when it could.
func ownership(vm *mo.VirtualMachine, owner observe.Owner) driver.Ownership {
	if !observe.Readable(vm) {
		return driver.Own
	}
	return observe.OwnershipOf(vm, owner)
}

// Refused implements driver.Driver.
func (d *Driver) Refused(w *driver.Want) driver.Refusals {
	refused := configspec.Refused(d.wanted(w), &mo.VirtualMachine{})
	refused.NotAllowed, _ = d.notAllowed(w)
	return refused
}

// notAllowed returns a message for each device that the zone does not let the namespace have, and the paths of their lists.
func (d *Driver) notAllowed(w *driver.Want) (messages, paths []string) {
	allowed, by := d.places(w.Identity.Zone).Devices(w.NamespaceLabels)
	return configspec.NotAllowed(configspec.Want{Want: *w}, allowed, by)
}

// Check implements driver.Driver.
func (d *Driver) Check(ctx context.Context, w *driver.Want, kinds ...string) driver.Report {
	return d.places(w.Identity.Zone).Check(ctx, w, kinds...).Failures
}

// Create implements driver.Driver.
func (d *Driver) Create(w *driver.Want, checked func(driver.Report)) driver.Operation {
	want := d.wanted(w)
	return driver.Operation{Kind: driver.KindCreate, Run: func(ctx context.Context) error {
		rep := d.places(w.Identity.Zone).Check(ctx, w)
		if err := rep.Err(); err != nil {
			checked(rep.Failures)
			return err
		}
		creator := d.creator(w.Identity.Zone)
		fast, note, done, err := d.fast(ctx, w, want, rep)
		defer done()
		if fast != nil || note != nil {
			rep.Failures[vmv1alpha1.ConditionImageCacheReady] = note
		}
		checked(rep.Failures)
		if err == nil && w.Retried && w.Identity.UniqueID == "" && w.FastDeploy != "" && w.FastDeploy != vmv1alpha1.FastDeployOff {
			err = d.removeLeftovers(ctx, w.Identity)
		}
		if fast != nil && err == nil {
			fast.HadVM = w.Identity.UniqueID != ""
			// Nobody removes the copies meanwhile.
			done, uerr := d.files.Use(fast.Directory)
			if uerr != nil {
				return errors.Join(fast.Lacks(fast.Directory), uerr)
			}
			defer done()
		}
		if err == nil {
			err = creator.Create(ctx, want, rep, fast)
		}
		if create.Gone(err) {
			d.invalidate()
		}
		return err
	}}
}

// Withdraw implements driver.Driver.
func (d *Driver) Withdraw(pub provider.Publication) driver.Operation {
	return driver.Operation{Kind: driver.KindWithdraw, Run: func(ctx context.Context) error { return d.publisher.Withdraw(ctx, &pub) }}
}

// Classify implements driver.Driver.
func (d *Driver) Classify(err error) driver.Failure {
	var lacks *driver.NotUsableError
	switch vimfault.KindOf(err) {
	case vimfault.WrongState, vimfault.NotFound, vimfault.AlreadyExists:
		return driver.Stale
	case vimfault.Temporary:
		return driver.Busy
	case vimfault.Cancelled:
		return driver.Interrupted
	case vimfault.None, vimfault.ToolsUnavailable, vimfault.Invalid, vimfault.Denied, vimfault.NoResources, vimfault.Other:
	}
	if errors.As(err, &lacks) && lacks.Missing {
		return driver.Lacking
	}
	return driver.Refused
}

// wanted translates what is asked for.
func (d *Driver) wanted(w *driver.Want) configspec.Want {
	out := configspec.Want{Want: *w, PlacesClaims: d.placesClaims()}
	out.Storage, out.ISOs = d.places(w.Identity.Zone).KnownStorage(w), d.places(w.Identity.Zone).KnownISOs(w)
	out.Backings, _ = d.places(w.Identity.Zone).KnownBackings(placement.NetworkNames(w.Effective), w.NamespaceLabels)
	return out
}

// placesClaims is true of a vCenter whose volume service takes places.
func (d *Driver) placesClaims() bool {
	return !session.Older(d.session.Info().APIVersion, configspec.PlacesClaimsSince)
}

// ownerOf is the owner that the vSphere VM of an object has.
func ownerOf(id driver.Identity) observe.Owner { return observe.Owner{Key: id.Key, UID: id.UID} }

func namesOf(id driver.Identity) inventory.Names {
	return inventory.Names{
		UniqueID: id.UniqueID, Confirmed: id.Confirmed, InstanceUUID: strings.ToLower(id.InstanceUUID), BiosUUID: strings.ToLower(id.BiosUUID), OwnerUID: id.UID,
	}
}
