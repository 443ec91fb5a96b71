// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package datastores

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// self contains a managed object, which the searches of the simulator require.
var self = types.ManagedObjectReference{Type: "SlipwayDatastores", Value: "datastores"}

// Datastores answers the calls of FileManager, VirtualDiskManager and
// DatastoreNamespaceManager that have a method here.
type Datastores struct {
	mo.ServiceManager

	registry *simulator.Registry

	mu sync.Mutex
	// sizes are the sizes of files, by their local paths. A file without an entry has the size of its content.
	sizes map[string]int64
	// diskSize is the size of library item disks without a size of their own.
	diskSize int64
	// rate is the number of bytes that a copy transfers per second. 0 means no delay.
	rate int64
	// open counts the copies that read or write a file.
	open map[string]int
	// faults are the injected faults of calls.
	faults map[string]*ordered
	// room is the configured free space of datastores, by reference. On these datastores only written data counts, and
	// not the maximum size of thin disks.
	room map[types.ManagedObjectReference]int64
	// copied counts the bytes that copies have written.
	copied int64
}

// ordered is a fault for a number of calls. A negative number means all calls.
type ordered struct {
	fault types.BaseMethodFault
	times int
}

// New adds it to the registry. Calls are redirected to it by strict.Handlers.
func New(registry *simulator.Registry) *Datastores {
	d := &Datastores{registry: registry, sizes: map[string]int64{}, open: map[string]int{}, faults: map[string]*ordered{},
		room: map[types.ManagedObjectReference]int64{}}
	d.Self = self
	registry.Put(d)
	registry.AddHandler(d)
	return d
}

// PutObject is called by the registry for every new object.
func (d *Datastores) PutObject(_ *simulator.Context, obj mo.Reference) {
	if obj.Reference().Type == "VirtualMachine" {
		go d.giveBack() // space that the simulator charges for the capacity of disks
	}
}

// UpdateObject is called by the registry for every changed object.
func (d *Datastores) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject is called by the registry for every removed object. The files of a virtual machine are deleted with it.
func (d *Datastores) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if ref.Type == "VirtualMachine" {
		go d.giveBack()
	}
}

// giveBack frees the space of deleted files.
func (d *Datastores) giveBack() {
	for _, e := range d.registry.All("Datastore") {
		ds, ok := e.(*simulator.Datastore)
		if !ok {
			continue
		}
		var freed int64
		d.mu.Lock()
		for p, size := range d.sizes {
			if _, err := os.Stat(p); within(p, ds.Summary.Url) && os.IsNotExist(err) {
				freed += size
				delete(d.sizes, p)
			}
		}
		d.mu.Unlock()
		_ = d.charge(ds, -freed)
	}
}

// Lock does nothing, because calls for different files run concurrently.
func (d *Datastores) Lock() {}

// Unlock does nothing. See Lock.
func (d *Datastores) Unlock() {}

// file is a file, or a directory, on a datastore.
type file struct {
	// name is the path in the request.
	name string
	// on is the datastore, path is the path in it, and disk is the path on the local disk.
	on         *simulator.Datastore
	path, disk string
}

// resolve finds the file of a datastore path.
func (d *Datastores) resolve(ctx *simulator.Context, dc *types.ManagedObjectReference, name string) (file, types.BaseMethodFault) {
	var p object.DatastorePath
	if !p.FromString(name) || strings.Contains(p.Path, "..") {
		return file{}, &types.InvalidDatastorePath{DatastorePath: name}
	}
	if dc == nil {
		return file{}, &types.InvalidArgument{InvalidProperty: "datacenter"}
	}
	for _, e := range d.registry.All("Datastore") {
		ds, ok := e.(*simulator.Datastore)
		if !ok || ds.Name != p.Datastore {
			continue
		}
		f := file{name: name, on: ds, path: strings.Trim(path.Clean("/"+p.Path), "/")}
		f.disk = filepath.Join(ds.Summary.Url, f.path)
		if top, rest, _ := strings.Cut(f.path, "/"); !topLevel(ds) && top != "" {
			f.disk = filepath.Join(ds.Summary.Url, d.namespace(ds, top), rest)
		}
		return f, nil
	}
	return file{}, &types.InvalidDatastore{Name: p.Datastore}
}

// there reports whether the file exists. It returns an error for a path whose disk cannot be read.
func (f file) there() bool {
	_, err := os.Stat(f.disk)
	return err == nil
}

func (f file) fault() types.FileFault { return types.FileFault{File: f.name} }

// isDisk reports whether a file is the descriptor of a virtual disk, whose content is in another file.
func (f file) isDisk() bool { return strings.HasSuffix(f.disk, ".vmdk") }

// size returns the size of a file, or the total size of a directory.
func (d *Datastores) size(f file) (total int64) {
	_ = filepath.Walk(f.disk, func(p string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return nil // it was deleted meanwhile
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		size, known := d.sizes[p]
		switch {
		case known:
			total += size
		case strings.HasPrefix(f.path, "contentlib-") && strings.HasSuffix(p, ".vmdk") && d.diskSize > 0:
			total += d.diskSize
		default:
			total += info.Size()
		}
		return nil
	})
	return total
}

// charge subtracts bytes from the free space of a datastore if enough is free. A negative number adds space.
func (d *Datastores) charge(ds *simulator.Datastore, bytes int64) types.BaseMethodFault {
	ctx := strict.Acting(d.registry)
	var fault types.BaseMethodFault
	ctx.WithLock(ds, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		free, ordered := d.room[ds.Self]
		if !ordered {
			free = ds.Summary.FreeSpace
		}
		if free -= bytes; free < 0 && bytes > 0 {
			fault = &types.NoDiskSpace{FileFault: types.FileFault{File: ds.Name}, Datastore: ds.Name}
			return
		}
		if ordered {
			d.room[ds.Self] = free
		}
		ctx.Update(ds, []types.PropertyChange{{Name: "summary.freeSpace", Val: min(free, ds.Summary.Capacity)}})
	})
	return fault
}

// ordered returns the injected fault for a call.
func (d *Datastores) ordered(call string) types.BaseMethodFault {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := d.faults[call]
	if o == nil || o.times == 0 {
		return nil
	}
	o.times--
	return o.fault
}
