// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package saved

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/slipway-dev/slipway/test/vcenter/inventory"
)

// Restore puts the saved objects back into the inventory and the files into
// filesDir. It reports whether there was a save. It must run before handlers are
// installed and requests are served.
func Restore(stateDir, filesDir string, inv *inventory.Inventory) (bool, error) {
	if err := removeUnfinished(stateDir); err != nil {
		return false, err
	}
	f, err := os.Open(filepath.Join(stateDir, fileName))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("restore the inventory: %w", err)
	}
	defer f.Close()
	if err := read(tar.NewReader(f), filesDir, inv); err != nil {
		return false, fmt.Errorf("restore the inventory from %s: %w", f.Name(), err)
	}
	return true, nil
}

// removeUnfinished removes the files of a save that was killed.
func removeUnfinished(stateDir string) error {
	left, err := filepath.Glob(filepath.Join(stateDir, unfinished))
	if err != nil {
		return fmt.Errorf("look for unfinished saves: %w", err)
	}
	for _, file := range left {
		if err := os.Remove(file); err != nil {
			return fmt.Errorf("remove an unfinished save: %w", err)
		}
	}
	return nil
}

func read(archive *tar.Reader, filesDir string, inv *inventory.Inventory) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case header.Name == headEntry:
			var h head
			if err := json.NewDecoder(archive).Decode(&h); err != nil {
				return fmt.Errorf("%s: %w", headEntry, err)
			}
			if !slices.Equal(h.Base, inv.Base) {
				return ErrDifferentInventory
			}
			if h.Installation != "" { // the save was written by an earlier version
				*installation(inv.Model.Map()) = h.Installation
			}
			for text, name := range h.Renamed {
				if e := entity(inv.Model.Map(), text); e != nil {
					*inventory.Name(e) = name
				}
			}
			if err := advance(inv.Model.Map(), h.Next); err != nil {
				return err
			}
		case header.Name == objectsEntry:
			if err := decode(archive, inv.Model.Map()); err != nil {
				return fmt.Errorf("%s: %w", objectsEntry, err)
			}
		case strings.HasPrefix(header.Name, filesPrefix):
			if err := extract(archive, header, filesDir); err != nil {
				return err
			}
		}
	}
}

// advance continues the numbering of references after n.
func advance(registry *simulator.Registry, n int64) error {
	marker := &mo.Task{}
	marker.Self = types.ManagedObjectReference{Type: "Task", Value: "task-" + strconv.FormatInt(n, 10)}
	registry.Put(marker)
	err := registry.AlignCounter()
	registry.Remove(&simulator.Context{Map: registry}, marker.Self)
	return err
}

func decode(r io.Reader, registry *simulator.Registry) error {
	dec := xml.NewDecoder(r)
	dec.TypeFunc = types.TypeFunc()
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		obj, value := newObject(start.Name.Local)
		if obj == nil {
			return fmt.Errorf("unknown kind %s", start.Name.Local)
		}
		if err := dec.DecodeElement(value, &start); err != nil {
			return fmt.Errorf("decode a %s: %w", start.Name.Local, err)
		}
		registry.Put(obj)
		link(registry, obj)
	}
}

// newObject returns an object of the simulator and the part of it that is saved.
func newObject(kind string) (mo.Reference, any) {
	switch kind {
	case "Folder":
		o := &simulator.Folder{}
		return o, &o.Folder
	case "ResourcePool":
		o := &simulator.ResourcePool{}
		return o, &o.ResourcePool
	case "VirtualMachine":
		o := &simulator.VirtualMachine{DataSets: map[string]*simulator.DataSet{}}
		return o, &o.VirtualMachine
	case "VirtualMachineSnapshot":
		o := &simulator.VirtualMachineSnapshot{DataSets: map[string]*simulator.DataSet{}}
		return o, &o.VirtualMachineSnapshot
	}
	return nil, nil
}

// link enters the object into the lists of the objects that hold it.
func link(registry *simulator.Registry, obj mo.Reference) {
	ref := obj.Reference()
	if e, ok := obj.(mo.Entity); ok && e.Entity().Parent != nil {
		switch parent := registry.Get(*e.Entity().Parent).(type) {
		case *simulator.Folder:
			parent.ChildEntity = appendNew(parent.ChildEntity, ref)
		case *simulator.ResourcePool:
			parent.ResourcePool.ResourcePool = appendNew(parent.ResourcePool.ResourcePool, ref)
		}
	}
	vm, ok := obj.(*simulator.VirtualMachine)
	if !ok {
		return
	}
	if vm.Runtime.Host != nil {
		if host, ok := registry.Get(*vm.Runtime.Host).(*simulator.HostSystem); ok {
			host.Vm = appendNew(host.Vm, ref)
		}
	}
	if vm.ResourcePool != nil {
		if pool, ok := registry.Get(*vm.ResourcePool).(*simulator.ResourcePool); ok {
			pool.Vm = appendNew(pool.Vm, ref)
		}
	}
	for _, r := range vm.Datastore {
		if ds, ok := registry.Get(r).(*simulator.Datastore); ok {
			ds.Vm = appendNew(ds.Vm, ref)
		}
	}
}

func appendNew(refs []types.ManagedObjectReference, ref types.ManagedObjectReference) []types.ManagedObjectReference {
	if slices.Contains(refs, ref) {
		return refs
	}
	return append(refs, ref)
}

func extract(archive io.Reader, header *tar.Header, dir string) error {
	relative := strings.TrimPrefix(header.Name, filesPrefix)
	if !filepath.IsLocal(filepath.FromSlash(strings.TrimSuffix(relative, "/"))) {
		return fmt.Errorf("file %q is outside of the datastores", header.Name)
	}
	path := filepath.Join(dir, filepath.FromSlash(relative))
	if header.Typeflag == tar.TypeDir {
		return os.MkdirAll(path, 0o700)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, archive); err != nil {
		_ = f.Close()
		return fmt.Errorf("restore %s: %w", relative, err)
	}
	return f.Close()
}

func number(ref types.ManagedObjectReference) int64 {
	n, err := strconv.ParseInt(ref.Value[strings.LastIndexAny(ref.Value, "-cspv")+1:], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func byNumber(objects []mo.Reference) []mo.Reference {
	sort.Slice(objects, func(i, j int) bool { return number(objects[i].Reference()) < number(objects[j].Reference()) })
	return objects
}
