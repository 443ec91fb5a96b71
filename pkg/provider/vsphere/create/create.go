// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
	"k8s.io/klog/v2"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/action"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// cleanupTimeout bounds the removal of what a failed create left behind.
const cleanupTimeout = time.Minute

// Creator makes vSphere VMs.
type Creator struct {
	// Actor does the single steps.
	Actor *action.Actor
	// Places resolves the folder of the namespace.
	Places *placement.Resolver
}

// ConflictError means that a VM which belongs to somebody else is in the way.
type ConflictError struct {
	// Message for people.
	Message string
}

// Error implements error.
func (e *ConflictError) Error() string { return e.Message }

// Create returns when the inventory shows the VM, made from rep.Source at the
// place of rep, or found if it exists.
func (c *Creator) Create(ctx context.Context, want configspec.Want, rep *placement.Report) error {
	found, err := c.find(ctx, want)
	if err != nil || found {
		return err
	}
	folder, err := c.Places.NamespaceFolder(ctx, want.Owner.Key.Namespace)
	if err != nil {
		return err
	}
	if other := c.Actor.Inventory.Child(folder, want.Name); other != nil {
		return &ConflictError{Message: fmt.Sprintf("the vSphere VM %s (%s) is at the inventory path of this virtual machine and has another instance UUID",
			other.Name, other.Self.Value)}
	}
	want.Backings = rep.Backings
	spec := configspec.Spec(configspec.Differences(want, &mo.VirtualMachine{}))
	ref, err := c.make(ctx, want, rep, folder, spec)
	if vimfault.KindOf(err) == vimfault.AlreadyExists {
		// A request that a process sent before it died has just been carried
		// out: the next pass finds its VM, which is none of this one's leftovers.
		return err
	}
	if err != nil {
		c.cleanUp(ctx, want)
		return err
	}
	vm, err := c.Actor.Settle(ctx, ref)
	if err != nil {
		return err
	}
	return c.complete(ctx, want, vm)
}

// complete sets what the server did not take over from the request. It matters
// that it is done here: a VM without its identity would not be found.
func (c *Creator) complete(ctx context.Context, want configspec.Want, vm *mo.VirtualMachine) error {
	if vm == nil || vm.Config == nil {
		return errors.New("the new vSphere VM is not readable")
	}
	diffs := configspec.Differences(want, vm)
	if len(diffs) == 0 || configspec.OnlyUpgrade(diffs) {
		return nil
	}
	return c.Actor.Reconfigure(ctx, vm.Self, configspec.Spec(diffs))
}

// find asks vSphere itself, for the inventory may be a moment behind.
func (c *Creator) find(ctx context.Context, want configspec.Want) (bool, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return false, err
	}
	byInstance := true
	ref, err := object.NewSearchIndex(vim).FindByUuid(ctx, nil, want.InstanceUUID, true, &byInstance)
	if err != nil {
		return false, fmt.Errorf("looking for instance UUID %s: %w", want.InstanceUUID, err)
	}
	if ref == nil {
		return false, nil
	}
	vm, err := c.Actor.Inventory.Refresh(ctx, ref.Reference())
	if err != nil || vm == nil {
		return false, err
	}
	if o, ok := observe.OwnerOf(vm); ok && o.UID != want.Owner.UID {
		return false, &ConflictError{Message: fmt.Sprintf("the vSphere VM %s with instance UUID %s belongs to %s", vm.Name, want.InstanceUUID, o)}
	}
	return true, nil
}

func (c *Creator) make(ctx context.Context, want configspec.Want, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	if rep.Source.LibraryItem != "" {
		return c.deploy(ctx, want.Name, rep, folder, spec)
	}
	return c.clone(ctx, want.Name, rep, folder, spec)
}

// deploy deploys an OVF item of a content library.
func (c *Creator) deploy(ctx context.Context, name string, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	doc, err := encode(spec)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	var ref *types.ManagedObjectReference
	err = c.Actor.Session.WithREST(ctx, "rest.DeployLibraryItem", func(rc *rest.Client) error {
		var derr error
		ref, derr = vcenter.NewManager(rc).DeployLibraryItem(ctx, rep.Source.LibraryItem, vcenter.Deploy{
			DeploymentSpec: vcenter.DeploymentSpec{
				Name:               name,
				AcceptAllEULA:      true,
				DefaultDatastoreID: rep.Datastore.Value,
				VmConfigSpec:       &vcenter.VmConfigSpec{Provider: "XML", XML: doc},
			},
			Target: vcenter.Target{ResourcePoolID: rep.Pool.Value, FolderID: folder.Value},
		})
		return derr
	})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("deploying library item %s: %w", rep.Source.LibraryItem, err)
	}
	return *ref, nil
}

// encode is the XML that vCenter's REST API takes: the SOAP form in base64.
func encode(spec types.VirtualMachineConfigSpec) (string, error) {
	var b bytes.Buffer
	b.WriteString(xml.Header)
	e := xml.NewEncoder(&b)
	start := xml.StartElement{
		Name: xml.Name{Local: "obj"},
		Attr: []xml.Attr{
			{Name: xml.Name{Local: "xmlns:vim25"}, Value: "urn:vim25"},
			{Name: xml.Name{Local: "xmlns:xsi"}, Value: "http://www.w3.org/2001/XMLSchema-instance"},
			{Name: xml.Name{Local: "xsi:type"}, Value: "vim25:VirtualMachineConfigSpec"},
		},
	}
	if err := e.EncodeElement(spec, start); err != nil {
		return "", fmt.Errorf("encoding the configuration: %w", err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// clone clones a template. Device changes are left to complete: those of the
// request are relative to devices that only the template's clone has.
func (c *Creator) clone(ctx context.Context, name string, rep *placement.Report, folder types.ManagedObjectReference, spec types.VirtualMachineConfigSpec) (types.ManagedObjectReference, error) {
	vim, err := c.Actor.Session.Vim(ctx)
	if err != nil {
		return types.ManagedObjectReference{}, err
	}
	spec.DeviceChange, spec.Name = nil, ""
	res, err := methods.CloneVM_Task(ctx, vim, &types.CloneVM_Task{
		This: rep.Source.Template, Folder: folder, Name: name,
		Spec: types.VirtualMachineCloneSpec{
			Location: types.VirtualMachineRelocateSpec{Pool: &rep.Pool, Datastore: &rep.Datastore, Folder: &folder},
			Config:   &spec,
		},
	})
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("cloning template %s: %w", rep.Source.Template.Value, err)
	}
	result, err := c.Actor.Inventory.WaitTask(ctx, res.Returnval)
	if err != nil {
		return types.ManagedObjectReference{}, fmt.Errorf("cloning template %s: %w", rep.Source.Template.Value, err)
	}
	ref, ok := result.(types.ManagedObjectReference)
	if !ok {
		return types.ManagedObjectReference{}, fmt.Errorf("cloning template %s: vSphere returned no virtual machine", rep.Source.Template.Value)
	}
	return ref, nil
}

// cleanUp removes a VM that a failed create left: one with our identity that
// was never powered on. Others are none of ours.
func (c *Creator) cleanUp(ctx context.Context, want configspec.Want) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := c.removeLeftover(ctx, want); err != nil {
		klog.FromContext(ctx).Error(err, "Removing what a failed create left behind failed", "instanceUUID", want.InstanceUUID)
	}
}

func (c *Creator) removeLeftover(ctx context.Context, want configspec.Want) error {
	found, err := c.find(ctx, want)
	if err != nil || !found {
		return err
	}
	vm, _ := c.Actor.Inventory.Find("", want.InstanceUUID)
	if vm == nil || vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		return nil
	}
	if o, ok := observe.OwnerOf(vm); !ok || o != want.Owner {
		return nil
	}
	return c.Actor.Destroy(ctx, vm.Self)
}

// Gone reports whether err means that a place or a source has disappeared, so
// that what is remembered of places is worth nothing.
func Gone(err error) bool { return vimfault.KindOf(err) == vimfault.NotFound }
