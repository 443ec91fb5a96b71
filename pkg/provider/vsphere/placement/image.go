// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Source is what a virtual machine is made from: a library item or a template.
type Source struct {
	// LibraryItem is the ID of an OVF item.
	LibraryItem string
	// templateItem is the ID of an item that is a template, until that is known.
	templateItem string
	// Template is a virtual machine to clone.
	Template types.ManagedObjectReference
	// Machine is true when that is no template but the virtual machine of an object, of
	// which a clone has only what is not its own.
	Machine bool
	// Snapshot of it that is cloned, nil for its present state.
	Snapshot *types.ManagedObjectReference
}

// SourceOf resolves what w is made from.
func (r *Resolver) SourceOf(ctx context.Context, w *driver.Want) (Source, error) {
	if w.CloneOf != nil {
		return r.machine(ctx, w.CloneOf)
	}
	return r.Source(ctx, w.Image)
}

// Source resolves an image.
func (r *Resolver) Source(ctx context.Context, image *vmv1alpha1.VirtualMachineImage) (Source, error) {
	if image == nil {
		return Source{}, &NotUsableError{Message: "the image does not exist", Missing: true}
	}
	switch {
	case image.Spec.ContentLibrary != nil:
		from := *image.Spec.ContentLibrary
		key := "library\x00" + from.Library + "\x00" + from.Item
		source, err := r.images.get(ctx, key, func(ctx context.Context) (Source, error) { return r.libraryItem(ctx, from) })
		if err != nil || source.templateItem == "" {
			return source, err
		}
		// A new version of it is another template.
		template, err := r.images.renew(ctx, "item\x00"+source.templateItem, func(ctx context.Context) (Source, error) { return r.ItemTemplate(ctx, from, source.templateItem) })
		if err != nil {
			r.images.forget(key)
		}
		return template, err
	case image.Spec.Template != nil:
		// To put another template in the place of one is how images are rotated: it is
		// looked for anew, which is one call, and one for all who ask at the same time.
		from := image.Spec.Template.InventoryPath
		return r.images.renew(ctx, "template\x00"+from, func(ctx context.Context) (Source, error) { return r.Template(ctx, from) })
	default:
		return Source{}, &NotUsableError{Message: fmt.Sprintf("image %s names no source", image.Name)}
	}
}

// Template finds the template at an inventory path, now.
func (r *Resolver) Template(ctx context.Context, inventoryPath string) (Source, error) {
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
