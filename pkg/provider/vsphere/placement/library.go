// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// MinDeployAPI is the first version of vCenter's API with which a deployment brings its
// own configuration, the identity of the virtual machine among it (vSphere Automation
// API, Vcenter Ovf LibraryItem VmConfigSpec). Older ones would ignore it.
const MinDeployAPI = "8.0.2.0"

// itemAge is how long an item that was found by name is used without another look: somebody
// may have given its name to another one. A look takes three calls, for all who ask.
const itemAge = 30 * time.Second

func (r *Resolver) libraryItem(ctx context.Context, from vmv1alpha1.ContentLibraryImageSource) (Source, error) {
	var item *library.Item
	err := r.opts.Session.WithREST(ctx, "rest.FindLibraryItem", func(ctx context.Context, c *rest.Client) (err error) {
		item, err = FindItem(ctx, library.NewManager(c), from)
		return err
	})
	if err != nil {
		return Source{}, err
	}
	if strings.EqualFold(item.Type, library.ItemTypeVMTX) {
		return Source{templateItem: item.ID}, nil
	}
	if err := Deployable(from, item.Type); err != nil {
		return Source{}, err
	}
	if err := r.Deploys(ctx); err != nil {
		return Source{}, err
	}
	return Source{LibraryItem: item.ID}, nil
}

// ItemTemplate finds the template that an item is now. A virtual machine is a clone of it,
// with its identity from the first moment: what vCenter deploys of such an item by itself
// gets no configuration (vSphere Automation API, VmTemplate LibraryItems DeploySpec).
func (r *Resolver) ItemTemplate(ctx context.Context, from vmv1alpha1.ContentLibraryImageSource, id string) (Source, error) {
	var info *vcenter.TemplateInfo
	err := r.opts.Session.WithREST(ctx, "rest.GetLibraryTemplate", func(ctx context.Context, c *rest.Client) (err error) {
		info, err = vcenter.NewManager(c).GetLibraryTemplateInfo(ctx, id)
		return err
	})
	switch {
	case vimfault.KindOf(err) == vimfault.NotFound:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("content library %q has no item %q any more", from.Library, from.Item), Missing: true}
	case err != nil:
		return Source{}, fmt.Errorf("reading the template of item %q of content library %q: %w", from.Item, from.Library, err)
	case info.VmTemplate == "":
		return Source{}, &NotUsableError{Message: fmt.Sprintf("vCenter names no template of item %q of content library %q", from.Item, from.Library)}
	}
	return Source{Template: types.ManagedObjectReference{Type: "VirtualMachine", Value: info.VmTemplate}}, nil
}

// FindItem returns the only item of its name in the only library of its name.
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
		return nil, &NotUsableError{Message: fmt.Sprintf("content library %q has %d items %q", from.Library, len(items), from.Item)}
	default:
		var item *library.Item
		if item, err = m.GetLibraryItem(ctx, items[0]); err == nil {
			return item, nil
		}
	}
	return nil, fmt.Errorf("finding item %q of content library %q: %w", from.Item, from.Library, err)
}

// Deploys returns a NotUsableError for a vCenter that cannot deploy from content libraries
// as it is done here.
func (r *Resolver) Deploys(ctx context.Context) error {
	vim, err := r.opts.Session.Vim(ctx)
	if err != nil {
		return err
	}
	if have := vim.ServiceContent.About.ApiVersion; session.Older(have, MinDeployAPI) {
		return &NotUsableError{Message: fmt.Sprintf(
			"deploying from a content library needs vCenter 8.0 Update 2 or newer (API %s), and this one has API %s: use an image of a template", MinDeployAPI, have)}
	}
	return nil
}

// FindLibrary returns the ID of the only content library of that name.
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
	return "", &NotUsableError{Message: fmt.Sprintf("vSphere has %d content libraries %q", len(libraries), name)}
}

// Deployable returns a NotUsableError for an item of a type that cannot be deployed.
func Deployable(item vmv1alpha1.ContentLibraryImageSource, itemType string) error {
	if strings.EqualFold(itemType, library.ItemTypeOVF) {
		return nil
	}
	return &NotUsableError{Message: fmt.Sprintf("item %q of content library %q has type %q, and only those of the types %q and %q can be deployed",
		item.Item, item.Library, itemType, library.ItemTypeOVF, library.ItemTypeVMTX)}
}
