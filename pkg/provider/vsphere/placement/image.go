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
)

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
	var key string
	var resolve func(context.Context) (Source, error)
	switch {
	case image.Spec.ContentLibrary != nil:
		from := *image.Spec.ContentLibrary
		key = "library\x00" + from.Library + "\x00" + from.Item
		resolve = func(ctx context.Context) (Source, error) { return r.libraryItem(ctx, from) }
	case image.Spec.Template != nil:
		key = "template\x00" + image.Spec.Template.InventoryPath
		resolve = func(ctx context.Context) (Source, error) { return r.template(ctx, image.Spec.Template.InventoryPath) }
	default:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("image %s names no source", image.Name)}
	}
	return r.images.get(ctx, key, resolve)
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
	var items []string
	err := r.opts.Session.WithREST(ctx, "rest.FindLibraryItem", func(ctx context.Context, c *rest.Client) error {
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
		if err != nil {
			return fmt.Errorf("finding item %q of content library %q: %w", from.Item, from.Library, err)
		}
		return nil
	})
	if err != nil {
		return Source{}, err
	}
	switch len(items) {
	case 1:
		return Source{LibraryItem: items[0]}, nil
	case 0:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("content library %q has no item %q", from.Library, from.Item), Missing: true}
	}
	return Source{}, &NotUsableError{Message: fmt.Sprintf("content library %q has %d items %q", from.Library, len(items), from.Item)}
}
