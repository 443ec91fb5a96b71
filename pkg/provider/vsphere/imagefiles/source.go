// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package imagefiles

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/library/finder"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/util/wait"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/descriptor"
)

// syncTimeout limits the wait for a subscribed library that downloads an item.
const syncTimeout = 2 * time.Hour

// source is a file of an item.
type source struct {
	id, name string
	kind     vmv1alpha1.CachedFileType
	// path is the datastore path of the file in datacenter. size is in bytes.
	path       string
	datacenter types.ManagedObjectReference
	size       int64
}

// leftOut are the extensions of files that virtual machines do not need.
var leftOut = []string{".ovf", ".mf", ".cert", ".iso"}

// sources returns the item's files on datastores, in the order of the descriptor. A subscribed library downloads
// missing files first.
func (f *Files) sources(ctx context.Context, item string, image *descriptor.Image) ([]source, error) {
	files, err := f.waitStored(ctx, item)
	if err != nil {
		return nil, err
	}
	c, err := f.opts.Session.Vim(ctx)
	if err != nil {
		return nil, err
	}
	datastores := map[string]mo.Datastore{}
	if err := finder.NewPathFinder(nil, c).ResolveLibraryItemStorage(ctx, nil, datastores, files); err != nil {
		return nil, fmt.Errorf("finding the datastores of library item %s: %w", item, err)
	}
	datacenters := map[string]types.ManagedObjectReference{}
	for id := range datastores {
		if datacenters[id], err = f.datacenterOf(ctx, types.ManagedObjectReference{Type: "Datastore", Value: id}); err != nil {
			return nil, err
		}
	}
	byName := map[string]source{}
	for _, s := range files {
		if len(s.StorageURIs) > 0 && !slices.Contains(leftOut, strings.ToLower(path.Ext(s.Name))) {
			byName[s.Name] = source{
				id: s.Name, name: s.Name, kind: vmv1alpha1.CachedFileOther,
				path: s.StorageURIs[0], datacenter: datacenters[s.StorageBacking.DatastoreID], size: s.Size,
			}
		}
	}
	return orderSources(byName, image)
}

// orderSources returns the descriptor's disks, each file once, and then the other files.
func orderSources(files map[string]source, image *descriptor.Image) ([]source, error) {
	var out []source
	for i := range image.Hardware.Disks {
		d := &image.Hardware.Disks[i]
		if d.File == "" || slices.ContainsFunc(out, func(s source) bool { return s.name == d.File }) {
			continue
		}
		s, ok := files[d.File]
		if !ok {
			return nil, missingFileError(d.File)
		}
		if s.kind = vmv1alpha1.CachedFileDisk; d.FileID != "" {
			s.id = d.FileID
		}
		out = append(out, s)
		delete(files, d.File)
	}
	if n := image.Hardware.NVRAM; n.File != "" {
		if _, ok := files[n.File]; !ok {
			return nil, missingFileError(n.File)
		}
	}
	disks := len(out)
	for _, s := range files {
		// The virtual machine does not have disks that the descriptor does not use.
		if !strings.EqualFold(path.Ext(s.name), ".vmdk") && !slices.ContainsFunc(out, func(o source) bool { return o.name == s.name }) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out[disks:], func(a, b source) int { return strings.Compare(a.name, b.name) })
	return out, nil
}

func missingFileError(file string) error {
	return &provider.NotUsableError{Message: fmt.Sprintf("file %q of the item's descriptor is missing in the library's storage", file), Missing: true}
}

// waitStored returns the locations of the item's files. It waits until all of them are on a datastore.
func (f *Files) waitStored(ctx context.Context, item string) ([]library.Storage, error) {
	ctx, cancel := context.WithTimeout(ctx, syncTimeout)
	defer cancel()
	pause := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 20, Cap: 30 * time.Second}
	for requested := false; ; {
		files, err := f.storage(ctx, item)
		if err != nil {
			return nil, fmt.Errorf("finding the files of library item %s: %w", item, err)
		}
		if !slices.ContainsFunc(files, func(s library.Storage) bool { return !s.Cached }) {
			return files, nil
		}
		if !requested {
			if err := f.sync(ctx, item); err != nil {
				return nil, fmt.Errorf("synchronizing library item %s: %w", item, err)
			}
			requested = true
		}
		select {
		case <-time.After(pause.Step()):
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the library to download the files of item %s: %w", item, ctx.Err())
		}
	}
}

func (f *Files) storage(ctx context.Context, item string) (files []library.Storage, err error) {
	err = f.opts.Session.WithREST(ctx, "rest.GetLibraryItemStorage", func(ctx context.Context, c *rest.Client) (err error) {
		files, err = library.NewManager(c).ListLibraryItemStorage(ctx, item)
		return err
	})
	return files, err
}

// sync requests that a subscribed library downloads the item's files.
func (f *Files) sync(ctx context.Context, item string) error {
	return f.opts.Session.WithLongREST(ctx, "rest.SyncLibraryItem", func(ctx context.Context, c *rest.Client) error {
		return library.NewManager(c).SyncLibraryItem(ctx, &library.Item{ID: item}, true)
	})
}
