// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// MinDeployAPI is the first version of vCenter's API with which a deployment brings its
// own configuration, the identity of the virtual machine among it (vSphere Automation
// API, Vcenter Ovf LibraryItem VmConfigSpec). Older ones would ignore it.
const MinDeployAPI = "8.0.2.0"

// Source is what a virtual machine is made from: a library item or a template.
type Source struct {
	// LibraryItem is the ID of an OVF item.
	LibraryItem string
	// Template is a virtual machine to clone.
	Template types.ManagedObjectReference
}

// Source resolves an image.
func (r *Resolver) Source(ctx context.Context, image *vmv1alpha1.VirtualMachineImage) (Source, error) {
	if image == nil {
		return Source{}, &NotUsableError{Message: "the image does not exist", Missing: true}
	}
	switch {
	case image.Spec.ContentLibrary != nil:
		from := *image.Spec.ContentLibrary
		return r.images.get(ctx, "library\x00"+from.Library+"\x00"+from.Item,
			func(ctx context.Context) (Source, error) { return r.libraryItem(ctx, from) })
	case image.Spec.Template != nil:
		// To put another template in the place of one is how images are rotated: it is
		// looked for anew, which is one call, and one for all who ask at the same time.
		from := image.Spec.Template.InventoryPath
		return r.images.renew(ctx, "template\x00"+from, func(ctx context.Context) (Source, error) { return r.template(ctx, from) })
	default:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("image %s names no source", image.Name)}
	}
}

func (r *Resolver) template(ctx context.Context, inventoryPath string) (Source, error) {
	_, dc, c, err := r.finder(ctx)
	if err != nil {
		return Source{}, err
	}
	p := inventoryPath
	if !strings.HasPrefix(p, "/") {
		p = path.Join(dc.InventoryPath, "vm", p)
	}
	ref, err := object.NewSearchIndex(c).FindByInventoryPath(ctx, p)
	if err != nil {
		return Source{}, explain("template", p, err)
	}
	if ref == nil || ref.Reference().Type != "VirtualMachine" {
		return Source{}, &NotUsableError{Message: fmt.Sprintf("vSphere has no template %q", p), Missing: true}
	}
	return Source{Template: ref.Reference()}, nil
}

func (r *Resolver) libraryItem(ctx context.Context, from vmv1alpha1.ContentLibraryImageSource) (Source, error) {
	vim, err := r.opts.Session.Vim(ctx)
	if err != nil {
		return Source{}, err
	}
	if have := vim.ServiceContent.About.ApiVersion; session.Older(have, MinDeployAPI) {
		return Source{}, &NotUsableError{Message: fmt.Sprintf(
			"deploying from a content library needs vCenter 8.0 Update 2 or newer (API %s), and this one has API %s: use an image of a template", MinDeployAPI, have)}
	}
	var items []string
	var item *library.Item
	err = r.opts.Session.WithREST(ctx, "rest.FindLibraryItem", func(ctx context.Context, c *rest.Client) error {
		m := library.NewManager(c)
		libraries, err := m.FindLibrary(ctx, library.Find{Name: from.Library})
		if err != nil {
			return fmt.Errorf("finding content library %q: %w", from.Library, err)
		}
		switch len(libraries) {
		case 1:
		case 0:
			return &NotUsableError{Message: fmt.Sprintf("vSphere has no content library %q", from.Library), Missing: true}
		default:
			return &NotUsableError{Message: fmt.Sprintf("vSphere has %d content libraries %q", len(libraries), from.Library)}
		}
		items, err = m.FindLibraryItems(ctx, library.FindItem{LibraryID: libraries[0], Name: from.Item})
		if err == nil && len(items) == 1 {
			item, err = m.GetLibraryItem(ctx, items[0])
		}
		if err != nil {
			return fmt.Errorf("finding item %q of content library %q: %w", from.Item, from.Library, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return Source{}, err
	case len(items) == 0:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("content library %q has no item %q", from.Library, from.Item), Missing: true}
	case len(items) > 1:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("content library %q has %d items %q", from.Library, len(items), from.Item)}
	case !strings.EqualFold(item.Type, library.ItemTypeOVF):
		return Source{}, &NotUsableError{Message: fmt.Sprintf("item %q of content library %q has type %q, and only those of type %q can be deployed%s",
			from.Item, from.Library, item.Type, library.ItemTypeOVF, instead(item.Type))}
	}
	return Source{LibraryItem: items[0]}, nil
}

// instead says how an item that cannot be deployed can be used all the same.
func instead(itemType string) string {
	if itemType == library.ItemTypeVMTX {
		return "; name the template by its inventory path"
	}
	return ""
}
