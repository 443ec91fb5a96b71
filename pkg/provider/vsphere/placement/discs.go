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

// discsOf counts the drives that shall have an image in them.
func discsOf(w *driver.Want) int {
	n := 0
	for i := range volumesOf(w) {
		if d := w.Effective.Volumes[i].CDROM; d != nil && d.Image != nil {
			n++
		}
	}
	return n
}

func volumesOf(w *driver.Want) []vmv1alpha1.VirtualMachineVolume {
	if w.Effective == nil {
		return nil
	}
	return w.Effective.Volumes
}

// media finds the ISO files of CD-ROM drives in content libraries.
type media struct {
	*lookup
	isos cache[string]
}

// discs finds the ISO files of all drives, as datastore paths by volume. All that cannot be
// found are reported.
func (me *media) discs(ctx context.Context, w *driver.Want) (map[string]string, error) {
	if discsOf(w) == 0 {
		return nil, nil
	}
	out := map[string]string{}
	var failures []error
	for i := range w.Effective.Volumes {
		v := &w.Effective.Volumes[i]
		if v.CDROM == nil || v.CDROM.Image == nil {
			continue
		}
		file, err := me.disc(ctx, w.Discs[v.Name], v.CDROM.Image)
		if err != nil {
			failures = append(failures, say(hardware.Volume(v.Name)+".cdrom.image", err))
			continue
		}
		out[v.Name] = file
	}
	return out, errors.Join(failures...)
}

// say puts the field before what an error says.
func say(field string, err error) error {
	var unusable *NotUsableError
	if errors.As(err, &unusable) {
		named := *unusable
		named.Message = field + ": " + named.Message
		return &named
	}
	return fmt.Errorf("%s: %w", field, err)
}

func (me *media) disc(ctx context.Context, image *vmv1alpha1.VirtualMachineImage, ref *vmv1alpha1.VirtualMachineImageRef) (string, error) {
	switch {
	case image == nil:
		return "", &NotUsableError{Message: fmt.Sprintf("%s %q does not exist", ref.Kind, ref.Name), Missing: true}
	case image.Spec.ContentLibrary == nil:
		return "", &NotUsableError{Message: fmt.Sprintf("%s %q is no item of a content library, which an ISO image is", ref.Kind, ref.Name)}
	}
	from := *image.Spec.ContentLibrary
	return me.isos.get(ctx, isoKey(from), func(ctx context.Context) (string, error) { return me.iso(ctx, from) })
}

func isoKey(from vmv1alpha1.ContentLibraryImageSource) string {
	return from.Library + "\x00" + from.Item
}

// KnownISOs are the files that were found before.
func (me *media) KnownISOs(w *driver.Want) map[string]string {
	var out map[string]string
	for volume, image := range w.Discs {
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

// iso is the datastore path of the file of an ISO item.
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
			return &NotUsableError{Message: fmt.Sprintf("item %q of content library %q has type %q, and a CD-ROM drive takes those of type %q",
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
			return &NotUsableError{Missing: true, Message: fmt.Sprintf("item %q of content library %q has %d ISO files on a datastore, and must have one: "+
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
