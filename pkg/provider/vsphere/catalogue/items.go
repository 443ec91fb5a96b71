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

// maxItems is the maximum number of items of a library. Each item is read with one call. The value is an estimate:
// typical libraries have hundreds of items.
const maxItems = 5000

const (
	// minItemAge and maxItemAge limit how long an item is cached.
	minItemAge, maxItemAge = 30 * time.Second, 5 * time.Minute
	// fillTime is how long after its creation an item without content is not cached, because its content may be
	// being uploaded.
	fillTime = 24 * time.Hour
)

// itemAge returns how long the items of a library are cached. It results in about one call per second instead of
// many simultaneous calls.
func itemAge(items int) time.Duration {
	return min(max(time.Duration(items)*time.Second, minItemAge), maxItemAge)
}

// Catalogue implements provider.Images for one vCenter.
type Catalogue struct {
	// Session is the vCenter session.
	Session *session.Session
	// Placement finds templates.
	Placement func() *placement.Resolver
	// Descriptors reads the descriptors of library items.
	Descriptors *descriptor.Reader

	mu sync.Mutex
	// read are the cached items by library ID and item ID.
	read map[string]map[string]cachedItem
	// changes is the number of invalidations. A read that began before an invalidation is not cached.
	changes int
	// newest is the newest hardware version of the hosts at newestAt.
	newest   int32
	newestAt time.Time
}

// cachedItem is an item with its expiry time.
type cachedItem struct {
	provider.LibraryItem
	until time.Time
}

var _ provider.Images = (*Catalogue)(nil)

// Items implements provider.Images. vCenter has no call that reads several items.
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
		return nil, &provider.NotUsableError{Message: fmt.Sprintf("content library %q has %d items; the maximum is %d", name, len(ids), maxItems)}
	}
	c.mu.Lock()
	before, changes := c.read[in], c.changes
	c.mu.Unlock()
	items, now := make([]provider.LibraryItem, 0, len(ids)), make(map[string]cachedItem, len(ids))
	for _, id := range ids {
		known, ok := before[id]
		if !ok || !time.Now().Before(known.until) || known.Library != name {
			item, err := c.item(ctx, id)
			if vimfault.KindOf(err) == vimfault.NotFound {
				continue // It was deleted after the list was read.
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
		c.read = map[string]map[string]cachedItem{}
	}
	if changes == c.changes {
		c.read[in] = now
	}
	return items, nil
}

// Changed removes an item from the cache after its content has changed.
func (c *Catalogue) Changed(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for in, items := range c.read {
		if _, ok := items[id]; ok {
			items = maps.Clone(items) // Other goroutines may be reading the map.
			delete(items, id)
			c.read[in] = items
		}
	}
}

func remember(in string, item *library.Item, age time.Duration) cachedItem {
	known := cachedItem{LibraryItem: provider.LibraryItem{
		ID: item.ID, Library: in, Name: item.Name, Type: item.Type, ContentVersion: item.ContentVersion, Size: descriptor.ByteQuantity(item.Size),
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
		// ISO files are used only in CD-ROM drives and have no description.
		return &provider.ImageDescription{Status: vmv1alpha1.VirtualMachineImageStatus{
			Type: vmv1alpha1.ImageTypeISO, ProviderItemID: item.ID, ContentVersion: item.ContentVersion, ContentSize: item.Size,
		}}, nil
	}
	from := vmv1alpha1.ContentLibraryImageSource{Library: item.Library, Item: item.Name}
	if strings.EqualFold(item.Type, library.ItemTypeVMTX) {
		return c.describeItemTemplate(ctx, from, item)
	}
	if err := placement.CheckDeployable(from, item.Type); err != nil {
		return nil, err
	}
	if err := c.Placement().CheckDeploySupport(ctx); err != nil {
		return nil, err
	}
	image, err := c.Descriptors.Read(ctx, c.Session, item.ID)
	if err != nil {
		return nil, err
	}
	if err := c.checkHardware(ctx, image.Description.Status.HardwareVersion); err != nil {
		return nil, err
	}
	out := image.Description
	out.Status.ProviderItemID = item.ID
	// The version belongs to the content that was read. It may be newer than the list.
	out.Status.ContentVersion, out.Status.ContentSize = image.Version, item.Size
	return &out, nil
}
