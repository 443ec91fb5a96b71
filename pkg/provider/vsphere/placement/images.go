// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// Source is the source of a virtual machine: a library item or a template.
type Source struct {
	// LibraryItem is the ID of an OVF item.
	LibraryItem string
	// templateItem is the ID of a template item whose template is not known yet.
	templateItem string
	// Template is the virtual machine to clone.
	Template types.ManagedObjectReference
	// Machine is true if Template is the virtual machine of an object. A clone does not get the parts that belong
	// only to that virtual machine.
	Machine bool
	// Snapshot is the snapshot to clone. Nil means the current state.
	Snapshot *types.ManagedObjectReference
}

// images resolves the sources of virtual machines.
type images struct {
	*lookup
	sources cache[Source]
}

// SourceOf resolves the source of w.
func (im *images) SourceOf(ctx context.Context, w *driver.Desired) (Source, error) {
	if w.CloneOf != nil {
		return im.machine(ctx, w.CloneOf)
	}
	return im.Source(ctx, w.Image)
}

// Source resolves an image.
func (im *images) Source(ctx context.Context, image *vmv1alpha1.VirtualMachineImage) (Source, error) {
	if image == nil {
		return Source{}, &NotUsableError{Message: "the image does not exist", Missing: true}
	}
	switch {
	case image.Spec.ContentLibrary != nil:
		from := *image.Spec.ContentLibrary
		key := "library\x00" + from.Library + "\x00" + from.Item
		source, err := im.sources.get(ctx, key, func(ctx context.Context) (Source, error) { return im.libraryItem(ctx, from) })
		if err != nil || source.templateItem == "" {
			return source, err
		}
		// Each version of the item has its own template.
		template, err := im.sources.renew(ctx, "item\x00"+source.templateItem, func(ctx context.Context) (Source, error) { return im.ItemTemplate(ctx, from, source.templateItem) })
		if err != nil {
			im.sources.forget(key)
		}
		return template, err
	case image.Spec.Template != nil:
		// Templates are often replaced by another one with the same path. The template is therefore always looked
		// up; simultaneous lookups share one call.
		from := image.Spec.Template.InventoryPath
		return im.sources.renew(ctx, "template\x00"+from, func(ctx context.Context) (Source, error) { return im.Template(ctx, from) })
	default:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("image %s has no source", image.Name)}
	}
}

// Template finds the template at an inventory path. It does not use the cache.
func (im *images) Template(ctx context.Context, inventoryPath string) (Source, error) {
	_, dc, c, err := im.finder(ctx)
	if err != nil {
		return Source{}, err
	}
	paths := vmPaths(dc, inventoryPath)
	ref, _, err := FindAtPath(ctx, c, "template", paths)
	if err != nil {
		return Source{}, err
	}
	if ref == nil || ref.Reference().Type != "VirtualMachine" {
		return Source{}, &NotUsableError{Message: fmt.Sprintf("vSphere has no template %q", paths[0]), Missing: true}
	}
	return Source{Template: ref.Reference()}, nil
}

// MinDeployAPI is the first vCenter API version whose deployments accept a configuration, including the virtual
// machine's identity (vSphere Automation API, Vcenter Ovf LibraryItem VmConfigSpec). Older versions ignore it.
const MinDeployAPI = "8.0.2.0"

// itemAge is the maximum age of an item that was found by name, because the name may move to another item. A lookup
// takes three calls for all simultaneous callers.
const itemAge = 30 * time.Second

func (im *images) libraryItem(ctx context.Context, from vmv1alpha1.ContentLibraryImageSource) (Source, error) {
	var item *library.Item
	err := im.session.WithREST(ctx, "rest.FindLibraryItem", func(ctx context.Context, c *rest.Client) (err error) {
		item, err = FindItem(ctx, library.NewManager(c), from)
		return err
	})
	if err != nil {
		return Source{}, err
	}
	if strings.EqualFold(item.Type, library.ItemTypeVMTX) {
		return Source{templateItem: item.ID}, nil
	}
	if err := CheckDeployable(from, item.Type); err != nil {
		return Source{}, err
	}
	if err := im.CheckDeploySupport(ctx); err != nil {
		return Source{}, err
	}
	return Source{LibraryItem: item.ID}, nil
}

// ItemTemplate returns the current template of an item. Virtual machines are cloned from it, so that they have
// their identity when they are created. A deployment by vCenter does not accept a configuration (vSphere Automation
// API, VmTemplate LibraryItems DeploySpec).
func (im *images) ItemTemplate(ctx context.Context, from vmv1alpha1.ContentLibraryImageSource, id string) (Source, error) {
	var info *vcenter.TemplateInfo
	err := im.session.WithREST(ctx, "rest.GetLibraryTemplate", func(ctx context.Context, c *rest.Client) (err error) {
		info, err = vcenter.NewManager(c).GetLibraryTemplateInfo(ctx, id)
		return err
	})
	switch {
	case vimfault.KindOf(err) == vimfault.NotFound:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("content library %q no longer has item %q", from.Library, from.Item), Missing: true}
	case err != nil:
		return Source{}, fmt.Errorf("reading the template of item %q of content library %q: %w", from.Item, from.Library, err)
	case info.VmTemplate == "":
		return Source{}, &NotUsableError{Message: fmt.Sprintf("vCenter returned no template for item %q of content library %q", from.Item, from.Library)}
	}
	return Source{Template: types.ManagedObjectReference{Type: "VirtualMachine", Value: info.VmTemplate}}, nil
}

// FindItem returns the item with a unique name in the library with a unique name.
func FindItem(ctx context.Context, m *library.Manager, from vmv1alpha1.ContentLibraryImageSource) (*library.Item, error) {
	id, err := FindLibrary(ctx, m, from.Library)
	if err != nil {
		return nil, err
	}
	items, err := m.FindLibraryItems(ctx, library.FindItem{LibraryID: id, Name: from.Item})
	switch {
	case err != nil:
	case len(items) == 0:
		return nil, &NotUsableError{Message: fmt.Sprintf("content library %q has no item %q", from.Library, from.Item), Missing: true}
	case len(items) > 1:
		return nil, &NotUsableError{Message: fmt.Sprintf("content library %q has %d items with the name %q", from.Library, len(items), from.Item)}
	default:
		var item *library.Item
		if item, err = m.GetLibraryItem(ctx, items[0]); err == nil {
			return item, nil
		}
	}
	return nil, fmt.Errorf("finding item %q of content library %q: %w", from.Item, from.Library, err)
}

// CheckDeploySupport returns a NotUsableError if the vCenter's API is too old for deployments from content libraries.
func (im *images) CheckDeploySupport(ctx context.Context) error {
	vim, err := im.session.Vim(ctx)
	if err != nil {
		return err
	}
	if have := vim.ServiceContent.About.ApiVersion; session.IsOlderVersion(have, MinDeployAPI) {
		return &NotUsableError{Message: fmt.Sprintf(
			"deploying from a content library requires vCenter 8.0 Update 2 or newer (API %s), but this vCenter has API %s: use an image of a template", MinDeployAPI, have)}
	}
	return nil
}

// FindLibrary returns the ID of the content library with a unique name.
func FindLibrary(ctx context.Context, m *library.Manager, name string) (string, error) {
	libraries, err := m.FindLibrary(ctx, library.Find{Name: name})
	if err != nil {
		return "", fmt.Errorf("finding content library %q: %w", name, err)
	}
	switch len(libraries) {
	case 1:
		return libraries[0], nil
	case 0:
		return "", &NotUsableError{Message: fmt.Sprintf("vSphere has no content library %q", name), Missing: true}
	}
	return "", &NotUsableError{Message: fmt.Sprintf("vSphere has %d content libraries with the name %q", len(libraries), name)}
}

// CheckDeployable returns a NotUsableError for an item type that cannot be deployed.
func CheckDeployable(item vmv1alpha1.ContentLibraryImageSource, itemType string) error {
	if strings.EqualFold(itemType, library.ItemTypeOVF) {
		return nil
	}
	return &NotUsableError{Message: fmt.Sprintf("item %q of content library %q has type %q, but only types %q and %q can be deployed",
		item.Item, item.Library, itemType, library.ItemTypeOVF, library.ItemTypeVMTX)}
}

// machine finds the virtual machine of an object to clone. It does not use the cache. It searches by instance UUID,
// because another vCenter may have another virtual machine with the same managed object ID.
func (im *images) machine(ctx context.Context, from *provider.CloneSource) (Source, error) {
	c, err := im.session.Vim(ctx)
	if err != nil {
		return Source{}, err
	}
	name := fmt.Sprintf("VirtualMachine %q", from.Name)
	instance := true
	found, err := object.NewSearchIndex(c).FindAllByUuid(ctx, nil, from.InstanceUUID, true, &instance)
	if err != nil {
		return Source{}, fmt.Errorf("searching for %s: %w", name, err)
	}
	notFound := &NotUsableError{Message: name + " is not in this vCenter; clones across vCenters are not supported", Missing: true}
	var vm *mo.VirtualMachine
	for _, ref := range found {
		one, err := readSource(ctx, c, ref.Reference())
		switch {
		case err != nil:
			return Source{}, fmt.Errorf("reading %s: %w", name, err)
		case one == nil:
		case vm != nil:
			return Source{}, &NotUsableError{Message: fmt.Sprintf("%s cannot be cloned: the vSphere VMs %s and %s have its instance UUID", name, vm.Self.Value, one.Self.Value)}
		default:
			vm = one
		}
	}
	switch {
	case vm == nil:
		return Source{}, notFound
	case !observe.IsReadable(vm) || !observe.IsConnected(vm):
		return Source{}, &NotUsableError{Message: name + " cannot be cloned: " + observe.Trouble(vm)}
	case observe.OwnershipOf(vm, observe.Owner{Key: from.NamespacedName, UID: string(from.UID)}) != driver.Own:
		return Source{}, notFound // The VM belongs to another object, which must not be revealed.
	case from.Snapshot == "" && vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("%s is %s: power it off or clone a snapshot", name, vm.Runtime.PowerState)}
	}
	out := Source{Template: vm.Self, Machine: true}
	if from.Snapshot != "" {
		if out.Snapshot, err = snapshotOf(vm, from.Snapshot); err != nil {
			return Source{}, err
		}
	}
	return out, nil
}

// readSource reads a virtual machine. It returns nil if the virtual machine does not exist.
func readSource(ctx context.Context, c *vim25.Client, ref types.ManagedObjectReference) (*mo.VirtualMachine, error) {
	var vm mo.VirtualMachine
	paths := []string{
		"name", "config.changeVersion", "config.instanceUuid", "config.extraConfig", "resourcePool",
		"runtime.powerState", "runtime.connectionState", "snapshot",
	}
	err := property.DefaultCollector(c).RetrieveOne(ctx, ref, paths, &vm)
	if vimfault.IsNotFound(err, ref) {
		return nil, nil
	}
	vm.Self = ref
	return &vm, err
}

// snapshotOf returns the snapshot with a unique name in the tree. vSphere does not require unique names.
func snapshotOf(vm *mo.VirtualMachine, name string) (*types.ManagedObjectReference, error) {
	var found []types.ManagedObjectReference
	var others []string
	var walk func(list []types.VirtualMachineSnapshotTree)
	walk = func(list []types.VirtualMachineSnapshotTree) {
		for i := range list {
			if list[i].Name == name {
				found = append(found, list[i].Snapshot)
			} else if len(others) < maxListedSnapshots {
				others = append(others, fmt.Sprintf("%q", list[i].Name))
			}
			walk(list[i].ChildSnapshotList)
		}
	}
	if vm.Snapshot != nil {
		walk(vm.Snapshot.RootSnapshotList)
	}
	switch {
	case len(found) == 1:
		return &found[0], nil
	case len(found) > 1:
		return nil, &NotUsableError{Message: fmt.Sprintf("the virtual machine to clone has %d snapshots with the name %q: rename all but one in vSphere", len(found), name)}
	case len(others) == 0:
		return nil, &NotUsableError{Message: fmt.Sprintf("snapshot %q does not exist: the virtual machine to clone has no snapshots", name), Missing: true}
	}
	return nil, &NotUsableError{Message: fmt.Sprintf("snapshot %q of the virtual machine to clone does not exist; existing snapshots: %s", name, strings.Join(others, ", ")), Missing: true}
}

// maxListedSnapshots is the maximum number of names in a message. vSphere recommends at most three snapshots in a
// chain and supports 32.
const maxListedSnapshots = 10
