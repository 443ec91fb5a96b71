// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package catalogue

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

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

const (
	// minItemAge and maxItemAge bound how long what was read of an item counts.
	minItemAge, maxItemAge = 30 * time.Second, 5 * time.Minute
	// fillTime is how long after its creation an item without content is read every time:
	// somebody may be uploading it.
	fillTime = 24 * time.Hour
)

// itemAge is how long what was read of the items of a library counts, so that a call is
// made for one of them each second, and not many at once every time.
func itemAge(items int) time.Duration {
	return min(max(time.Duration(items)*time.Second, minItemAge), maxItemAge)
}

// Catalogue implements provider.Images for one vCenter.
type Catalogue struct {
	// Session is the connection.
	Session *session.Session
	// Places finds templates.
	Places func() *placement.Resolver
	// Descriptors reads those of library items.
	Descriptors *descriptor.Reader

	mu sync.Mutex
	// read is what was read of items, by the IDs of their libraries and their own.
	read map[string]map[string]read
	// changes counts what was forgotten, so that what was read before is not remembered.
	changes int
	// newest is the newest hardware version that a host ran at newestAt.
	newest   int32
	newestAt time.Time
}

// read is what an item was like at a time.
type read struct {
	provider.LibraryItem
	until time.Time
}

var _ provider.Images = (*Catalogue)(nil)

// Items implements provider.Images. vCenter has no call for several items at once.
func (c *Catalogue) Items(ctx context.Context, name string) ([]provider.LibraryItem, error) {
	var in string
	var ids []string
	err := c.Session.WithREST(ctx, "rest.FindLibraryItems", func(ctx context.Context, client *rest.Client) error {
		m := library.NewManager(client)
		id, err := placement.FindLibrary(ctx, m, name)
		if err != nil {
			return err
		}
		in = id
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
	c.mu.Lock()
	before, changes := c.read[in], c.changes
	c.mu.Unlock()
	items, now := make([]provider.LibraryItem, 0, len(ids)), make(map[string]read, len(ids))
	for _, id := range ids {
		known, ok := before[id]
		if !ok || !time.Now().Before(known.until) || known.Library != name {
			item, err := c.item(ctx, id)
			if vimfault.KindOf(err) == vimfault.NotFound {
				continue // gone since the list
			}
			if err != nil {
				return nil, fmt.Errorf("reading item %s of content library %q: %w", id, name, err)
			}
			known = remember(name, item, itemAge(len(ids)))
		}
		now[id] = known
		items = append(items, known.LibraryItem)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.read == nil {
		c.read = map[string]map[string]read{}
	}
	if changes == c.changes {
		c.read[in] = now
	}
	return items, nil
}

// Changed says that an item has other content than it had: the next list reads it.
func (c *Catalogue) Changed(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for in, items := range c.read {
		if _, ok := items[id]; ok {
			items = maps.Clone(items) // as lists go through it
			delete(items, id)
			c.read[in] = items
		}
	}
}

func remember(in string, item *library.Item, age time.Duration) read {
	known := read{LibraryItem: provider.LibraryItem{
		ID: item.ID, Library: in, Name: item.Name, Type: item.Type, ContentVersion: item.ContentVersion, Size: descriptor.Amount(item.Size),
	}}
	if filling := item.Size == 0 && item.CreationTime != nil && time.Since(*item.CreationTime) < fillTime; !filling {
		known.until = time.Now().Add(age)
	}
	return known
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
	if err := c.runs(ctx, image.Description.Status.HardwareVersion); err != nil {
		return nil, err
	}
	out := image.Description
	out.Status.ProviderItemID = item.ID
	// Of the content that was read: there may be other since the list.
	out.Status.ContentVersion, out.Status.ContentSize = image.Version, item.Size
	return &out, nil
}
