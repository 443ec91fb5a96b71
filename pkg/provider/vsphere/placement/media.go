// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/library/finder"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/mo"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/hardware"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// countISOs returns the number of drives with an image.
func countISOs(w *driver.Desired) int {
	n := 0
	for i := range volumesOf(w) {
		if d := w.Effective.Volumes[i].CDROM; d != nil && d.Image != nil {
			n++
		}
	}
	return n
}

func volumesOf(w *driver.Desired) []vmv1alpha1.VirtualMachineVolume {
	if w.Effective == nil {
		return nil
	}
	return w.Effective.Volumes
}

// media finds ISO files of CD-ROM drives in content libraries.
type media struct {
	*lookup
	isos cache[string]
}

// resolveISOs returns the datastore paths of all drives' ISO files by volume. The error contains all files that
// cannot be found.
func (me *media) resolveISOs(ctx context.Context, w *driver.Desired) (map[string]string, error) {
	if countISOs(w) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	var failures []error
	for i := range w.Effective.Volumes {
		v := &w.Effective.Volumes[i]
		if v.CDROM == nil || v.CDROM.Image == nil {
			continue
		}
		file, err := me.disc(ctx, w.CDROMImages[v.Name], v.CDROM.Image)
		if err != nil {
			failures = append(failures, prefixField(hardware.VolumePath(v.Name)+".cdrom.image", err))
			continue
		}
		out[v.Name] = file
	}
	return out, errors.Join(failures...)
}

// prefixField adds the field to the message of an error.
func prefixField(field string, err error) error {
	var unusable *NotUsableError
	if errors.As(err, &unusable) {
		prefixed := *unusable
		prefixed.Message = field + ": " + prefixed.Message
		return &prefixed
	}
	return fmt.Errorf("%s: %w", field, err)
}

func (me *media) disc(ctx context.Context, image *vmv1alpha1.VirtualMachineImage, ref *vmv1alpha1.VirtualMachineImageRef) (string, error) {
	switch {
	case image == nil:
		return "", &NotUsableError{Message: fmt.Sprintf("%s %q does not exist", ref.Kind, ref.Name), Missing: true}
	case image.Spec.ContentLibrary == nil:
		return "", &NotUsableError{Message: fmt.Sprintf("%s %q is not a content library item; an ISO image must be one", ref.Kind, ref.Name)}
	}
	from := *image.Spec.ContentLibrary
	return me.isos.get(ctx, isoKey(from), func(ctx context.Context) (string, error) { return me.iso(ctx, from) })
}

func isoKey(from vmv1alpha1.ContentLibraryImageSource) string {
	return from.Library + "\x00" + from.Item
}

// KnownISOs returns the cached files.
func (me *media) KnownISOs(w *driver.Desired) map[string]string {
	var out map[string]string
	for volume, image := range w.CDROMImages {
		if image == nil || image.Spec.ContentLibrary == nil {
			continue
		}
		if file, ok := me.isos.known(isoKey(*image.Spec.ContentLibrary)); ok {
			if out == nil {
				out = map[string]string{}
			}
			out[volume] = file
		}
	}
	return out
}

// iso returns the datastore path of an ISO item's file.
func (me *media) iso(ctx context.Context, from vmv1alpha1.ContentLibraryImageSource) (string, error) {
	vim, err := me.session.Vim(ctx)
	if err != nil {
		return "", err
	}
	_, dc, _, err := me.finder(ctx)
	if err != nil {
		return "", err
	}
	var isos []library.Storage
	err = me.session.WithREST(ctx, "rest.FindLibraryItem", func(ctx context.Context, c *rest.Client) error {
		m := library.NewManager(c)
		item, err := FindItem(ctx, m, from)
		if err != nil {
			return err
		}
		if !strings.EqualFold(item.Type, library.ItemTypeISO) {
			return &NotUsableError{Message: fmt.Sprintf("item %q of content library %q has type %q, but a CD-ROM drive requires type %q",
				from.Item, from.Library, item.Type, library.ItemTypeISO)}
		}
		files, err := m.ListLibraryItemStorage(ctx, item.ID)
		if err != nil {
			return fmt.Errorf("finding the files of item %q of content library %q: %w", from.Item, from.Library, err)
		}
		for _, f := range files {
			if strings.EqualFold(path.Ext(f.Name), ".iso") && f.Cached && len(f.StorageURIs) > 0 {
				isos = append(isos, f)
			}
		}
		if len(isos) != 1 {
			return &NotUsableError{Missing: true, Message: fmt.Sprintf("item %q of content library %q has %d ISO files on a datastore, but must have one: "+
				"the items of a subscribed library may have to be synchronized first", from.Item, from.Library, len(isos))}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if err := finder.NewPathFinder(nil, vim).ResolveLibraryItemStorage(ctx, dc, map[string]mo.Datastore{}, isos); err != nil {
		return "", fmt.Errorf("finding the datastore of item %q of content library %q: %w", from.Item, from.Library, err)
	}
	return isos[0].StorageURIs[0], nil
}
