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

// Driver manages the virtual machines of one vCenter.
type Driver struct {
	name       string
	session    *session.Session
	inventory  *inventory.Inventory
	actor      *action.Actor
	images     *catalogue.Catalogue
	imageFiles *imagefiles.Files
	// defaultZone are the options of the zone that the Config specifies.
	defaultZone placement.Options
	zones       zones
	descriptors *descriptor.Reader
	compliance  compliance.Checker
	publisher   *publish.Publisher
	sink        driver.Sink
}

var _ driver.Driver = (*Driver)(nil)

// New returns a Driver. It does not connect before its first call or Run.
func New(c Config) (*Driver, error) {
	s, err := session.New(c.session())
	if err != nil {
		return nil, err
	}
	d := &Driver{name: cmp.Or(c.Name, vmv1alpha1.DefaultVCenter), session: s, defaultZone: c.placement(s), descriptors: &descriptor.Reader{}}
	d.inventory = inventory.New(inventory.Options{
		Session: s, MaxWait: c.MaxWait, OnChange: d.handleChange, Synced: func() { d.sink.ReadComplete() },
		Folders: d.folders, EventKinds: eventKinds, OnEvent: d.eventHandler(c.OnEvent),
	})
	d.compliance.Policies, d.compliance.Machines = s.PolicyClient, d.inventory.All
	d.compliance.Changed = func(vm *mo.VirtualMachine) {
		if owner, ok := observe.OwnerOf(vm); ok {
			d.sink.Changed(owner.Key)
		}
	}
	d.actor = &action.Actor{Session: s, Inventory: d.inventory, GracePeriod: c.GracePeriod, OnDetached: d.detachHandler(c.OnEvent)}
	d.images = &catalogue.Catalogue{Session: s, Placement: d.anyResolver, Descriptors: d.descriptors}
	d.publisher = &publish.Publisher{Session: s, Inventory: d.inventory, Owner: c.Owner}
	started := time.Now()
	d.imageFiles = imagefiles.New(imagefiles.Options{
		Session: s, Inventory: d.inventory, Descriptors: d.descriptors, Owner: c.Owner,
		FindCreateTask: func(ctx context.Context) (string, error) { return d.newCreator("").FindCreateTask(ctx, started) },
	})
	d.SetZones(map[string]*vmv1alpha1.ZoneSpec{vmv1alpha1.DefaultZone: nil})
	return d, nil
}

// Images returns the images of this vCenter.
func (d *Driver) Images() provider.Images { return d.images }

// ImageFiles manages copies of image files in this vCenter.
func (d *Driver) ImageFiles() provider.ImageFiles { return d.imageFiles }

// Run implements driver.Driver.
func (d *Driver) Run(ctx context.Context, sink driver.Sink) {
	d.sink = sink
	var wg sync.WaitGroup
	wg.Go(func() { d.session.Run(ctx) })
	wg.Go(func() { d.inventory.Run(ctx) })
	wg.Go(func() { d.warmResolvers(ctx) })
	wg.Go(func() { d.compliance.Run(ctx) })
	wg.Wait()
	d.session.Close()
}

// handleChange handles a change of the inventory. It ignores a change that affects neither the
// configuration nor the observed state.
func (d *Driver) handleChange(old, now *mo.VirtualMachine) {
	owner, ok := observe.OwnerOf(now)
	if !ok {
		owner, ok = observe.OwnerOf(old)
	}
	if !ok {
		return
	}
	if s := compliance.Signature(now); s != "" && s != compliance.Signature(old) {
		d.compliance.Trigger()
	}
	if old != nil && now != nil && reflect.DeepEqual(old.Config, now.Config) &&
		equality.Semantic.DeepEqual(observe.Of(old, d.inventory.HostName), observe.Of(now, d.inventory.HostName)) {
		return
	}
	if questionID(old) != questionID(now) {
		d.sink.Blocked(owner.Key)
		return
	}
	d.sink.Changed(owner.Key)
}

// questionID returns the ID of the question that blocks the VM until it is answered. It is empty if
// there is none.
func questionID(vm *mo.VirtualMachine) string {
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

// Info describes the current login. It is zero before the first login.
func (d *Driver) Info() session.Info { return d.session.Info() }

// Connected returns nil if vCenter responds, even if the inventory has not been read.
func (d *Driver) Connected(ctx context.Context) error { return d.session.Healthy(ctx) }

// Skew returns how far vCenter's clock was ahead of the server's clock at the last measurement.
// known is false before the first measurement.
func (d *Driver) Skew() (skew time.Duration, known bool) { return d.session.Skew() }

// SkewWarning returns a warning for operators about the clock difference, or an empty string. It
// measures the difference if that has not been done yet.
func (d *Driver) SkewWarning(ctx context.Context) string {
	skew, known := d.session.Skew()
	if !known {
		skew, _ = d.session.MeasureSkew(ctx)
	}
	return session.SkewWarning(skew)
}

// ReadDuration returns how long the last full read of the inventory took. It is 0 until the first
// full read is complete.
func (d *Driver) ReadDuration() time.Duration { return d.inventory.ReadDuration() }

// LastStreamResponse returns the time of the last response of the stream of changes. It is zero before the first
// response.
func (d *Driver) LastStreamResponse() time.Time { return d.inventory.LastAnswer() }

// Starting implements driver.Driver.
func (d *Driver) Starting() bool { return d.inventory.Starting() }

// IsCurrent implements driver.Driver.
func (d *Driver) IsCurrent() bool { return d.inventory.Synced() }

// CountOwned implements driver.Driver.
func (d *Driver) CountOwned() int { return d.inventory.CountOwners() }

// Owned implements driver.Driver.
func (d *Driver) Owned() []driver.Owned { return d.inventory.Owned() }

// Record implements driver.Driver.
func (d *Driver) Record(uniqueID string) string {
	vm := d.inventory.Get(vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: uniqueID})
	return observe.ExtraConfig(vm, observe.RecordKey)
}

// Observe implements driver.Driver.
func (d *Driver) Observe(id driver.Identity) driver.Observed {
	names := namesOf(id)
	if folder, ok := d.resolver(id.Zone).KnownNamespaceFolder(id.Key.Namespace); ok {
		names.Folder = folder
	}
	f := d.inventory.Find(names)
	switch f.State {
	case inventory.Absent:
		if err := d.zoneReadError(id.Zone); err != nil {
			return driver.Observed{State: driver.Unknown, Why: "zone " + id.Zone + " could not be read: " + err.Error()}
		}
		return driver.Observed{State: driver.Absent, Copies: describeVMs(f.Copies)}
	case inventory.Exists:
		return driver.Observed{State: driver.Exists, Machine: d.machine(f.VM), Ownership: ownershipOf(f.VM, ownerOf(id))}
	case inventory.Unknown:
	}
	return driver.Observed{State: driver.Unknown, Why: f.Why}
}

// ownershipOf returns the ownership of vm. An unreadable VM is owned by the object, because it is in
// the inventory only if the object owned it when it could be read.
func ownershipOf(vm *mo.VirtualMachine, owner observe.Owner) driver.Ownership {
	if !observe.IsReadable(vm) {
		return driver.Own
	}
	return observe.OwnershipOf(vm, owner)
}

// CheckDesired implements driver.Driver.
func (d *Driver) CheckDesired(w *driver.Desired) driver.Refusals {
	refused := configspec.Refused(d.desiredSpec(w), &mo.VirtualMachine{})
	refused.NotAllowed, _ = d.disallowedDevices(w)
	return refused
}

// disallowedDevices returns a message for each device that the zone does not allow for the namespace, and
// the field paths of the lists of these devices.
func (d *Driver) disallowedDevices(w *driver.Desired) (messages, paths []string) {
	allowed, by := d.resolver(w.Identity.Zone).Devices(w.NamespaceLabels)
	return configspec.NotAllowed(configspec.Desired{Desired: *w}, allowed, by)
}

// Check implements driver.Driver.
func (d *Driver) Check(ctx context.Context, w *driver.Desired, kinds ...string) driver.Report {
	return d.resolver(w.Identity.Zone).Check(ctx, w, kinds...).Failures
}

// Create implements driver.Driver.
func (d *Driver) Create(w *driver.Desired, checked func(driver.Report)) driver.Operation {
	want := d.desiredSpec(w)
	return driver.Operation{Kind: driver.KindCreate, Run: func(ctx context.Context) error {
		rep := d.resolver(w.Identity.Zone).Check(ctx, w)
		if err := rep.Err(); err != nil {
			checked(rep.Failures)
			return err
		}
		creator := d.newCreator(w.Identity.Zone)
		fast, note, done, err := d.fastDeploy(ctx, w, want, rep)
		defer done()
		if fast != nil || note != nil {
			rep.Failures[vmv1alpha1.ConditionImageCacheReady] = note
		}
		checked(rep.Failures)
		if err == nil && w.MayHaveLeftovers && w.Identity.UniqueID == "" && w.FastDeploy != "" && w.FastDeploy != vmv1alpha1.FastDeployOff {
			err = d.removeLeftovers(ctx, w.Identity)
		}
		if fast != nil && err == nil {
			fast.HadVM = w.Identity.UniqueID != ""
			// This prevents the removal of the copies during the creation.
			done, uerr := d.imageFiles.Use(fast.Directory)
			if uerr != nil {
				return errors.Join(fast.MissingCopyError(fast.Directory), uerr)
			}
			defer done()
		}
		if err == nil {
			err = creator.Create(ctx, want, rep, fast)
		}
		if create.IsStale(err) {
			d.invalidate()
		}
		return err
	}}
}

// CancelPublication implements driver.Driver.
func (d *Driver) CancelPublication(pub provider.PublishRequest) driver.Operation {
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
		return driver.NotFoundFailure
	}
	return driver.Refused
}

// desiredSpec returns the desired state with the storage, ISO images and networks that are already
// resolved.
func (d *Driver) desiredSpec(w *driver.Desired) configspec.Desired {
	out := configspec.Desired{Desired: *w, PlacesClaims: d.acceptsDiskSlot()}
	out.Storage, out.ISOs = d.resolver(w.Identity.Zone).KnownStorage(w), d.resolver(w.Identity.Zone).KnownISOs(w)
	out.NetworkBackings, _ = d.resolver(w.Identity.Zone).KnownBackings(placement.NetworkNames(w.Effective), w.NamespaceLabels)
	return out
}

// acceptsDiskSlot reports whether vCenter's volume service accepts a disk slot: a controller and a
// unit number.
func (d *Driver) acceptsDiskSlot() bool {
	return !session.IsOlderVersion(d.session.Info().APIVersion, configspec.ChooseDiskSlotSince)
}

// ownerOf returns the expected owner of the object's vSphere VM.
func ownerOf(id driver.Identity) observe.Owner { return observe.Owner{Key: id.Key, UID: id.UID} }

func namesOf(id driver.Identity) inventory.Identifiers {
	return inventory.Identifiers{
		UniqueID: id.UniqueID, Confirmed: id.ConfirmedNewID, InstanceUUID: strings.ToLower(id.InstanceUUID), BiosUUID: strings.ToLower(id.BiosUUID), OwnerUID: id.UID,
	}
}
