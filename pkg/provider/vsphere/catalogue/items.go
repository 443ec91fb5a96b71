// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogue

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// maxItems bounds the items of a library that is read: one call is made for each. A
// judgement: libraries that people keep have hundreds.
const maxItems = 5000

// Catalogue implements provider.Images for one vCenter.
type Catalogue struct {
	// Session is the connection.
	Session *session.Session
	// Places finds templates.
	Places func() *placement.Resolver
	// Descriptors reads those of library items.
	Descriptors *descriptor.Reader
}

var _ provider.Images = (*Catalogue)(nil)

// Items implements provider.Images. vCenter has no call for several items at once.
func (c *Catalogue) Items(ctx context.Context, name string) ([]provider.LibraryItem, error) {
	var ids []string
	err := c.Session.WithREST(ctx, "rest.FindLibraryItems", func(ctx context.Context, client *rest.Client) error {
		m := library.NewManager(client)
		id, err := placement.FindLibrary(ctx, m, name)
		if err != nil {
			return err
		}
		if ids, err = m.ListLibraryItems(ctx, id); err != nil {
			return fmt.Errorf("listing content library %q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(ids) > maxItems {
		return nil, &provider.NotUsableError{Message: fmt.Sprintf("content library %q has %d items, and at most %d can be read", name, len(ids), maxItems)}
	}
	items := make([]provider.LibraryItem, 0, len(ids))
	for _, id := range ids {
		item, err := c.item(ctx, id)
		switch {
		case vimfault.KindOf(err) == vimfault.NotFound: // gone since the list
		case err != nil:
			return nil, fmt.Errorf("reading item %s of content library %q: %w", id, name, err)
		default:
			items = append(items, provider.LibraryItem{
				ID: id, Library: name, Name: item.Name, Type: item.Type, ContentVersion: item.ContentVersion, Size: descriptor.Amount(item.Size),
			})
		}
	}
	return items, nil
}

func (c *Catalogue) item(ctx context.Context, id string) (item *library.Item, err error) {
	err = c.Session.WithREST(ctx, "rest.GetLibraryItem", func(ctx context.Context, client *rest.Client) (err error) {
		item, err = library.NewManager(client).GetLibraryItem(ctx, id)
		return err
	})
	return item, err
}

// DescribeItem implements provider.Images.
func (c *Catalogue) DescribeItem(ctx context.Context, item provider.LibraryItem) (*provider.ImageDescription, error) {
	if strings.EqualFold(item.Type, library.ItemTypeISO) {
		// For CD-ROM drives: nothing is to be read of it.
		return &provider.ImageDescription{Status: vmv1alpha1.VirtualMachineImageStatus{
			Type: vmv1alpha1.ImageTypeISO, ProviderItemID: item.ID, ContentVersion: item.ContentVersion, ContentSize: item.Size,
		}}, nil
	}
	from := vmv1alpha1.ContentLibraryImageSource{Library: item.Library, Item: item.Name}
	if strings.EqualFold(item.Type, library.ItemTypeVMTX) {
		return c.describeItemTemplate(ctx, from, item)
	}
	if err := placement.Deployable(from, item.Type); err != nil {
		return nil, err
	}
	if err := c.Places().Deploys(ctx); err != nil {
		return nil, err
	}
	image, err := c.Descriptors.Read(ctx, c.Session, item.ID)
	if err != nil {
		return nil, err
	}
	out := image.Description
	out.Status.ProviderItemID = item.ID
	// Of the content that was read: there may be other since the list.
	out.Status.ContentVersion, out.Status.ContentSize = image.Version, item.Size
	return &out, nil
}
