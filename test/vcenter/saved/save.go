// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package saved

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"github.com/slipway-dev/slipway/test/vcenter/inventory"
)

// fileName is the one file of a save, a tar archive.
const fileName = "vcenter.tar"

// unfinished are the names of saves that have not replaced it yet.
const unfinished = fileName + ".*"

// Entries of the archive.
const (
	headEntry    = "head.json"
	objectsEntry = "objects.xml"
	filesPrefix  = "files/"
)

// head identifies the inventory of the archive.
type head struct {
	Base []string `json:"base"` // the fixed inventory
	Next int64    `json:"next"` // the number of the last reference given out
	// Installation is the instance UUID of the vCenter.
	Installation string `json:"installation"`
	// Renamed has the names of the fixed entities that were renamed, by reference.
	Renamed map[string]string `json:"renamed,omitempty"`
}

// ErrDifferentInventory is returned for a save of another fixed inventory.
var ErrDifferentInventory = errors.New("the saved inventory was made by a different version")

// Save writes the changeable part of the inventory, whose datastore files are in
// filesDir, to stateDir. The inventory may be in use.
func Save(stateDir, filesDir string, inv *inventory.Inventory) (err error) {
	tmp, err := os.CreateTemp(stateDir, unfinished)
	if err != nil {
		return fmt.Errorf("save the inventory: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name())
		}
	}()
	if err = write(tmp, filesDir, inv); err != nil {
		_ = tmp.Close()
		return fmt.Errorf("save the inventory: %w", err)
	}
	if err = tmp.Close(); err != nil {
		return fmt.Errorf("save the inventory: %w", err)
	}
	if err = os.Rename(tmp.Name(), filepath.Join(stateDir, fileName)); err != nil {
		return fmt.Errorf("save the inventory: %w", err)
	}
	return nil
}

func write(w io.Writer, filesDir string, inv *inventory.Inventory) error {
	archive := tar.NewWriter(w)
	registry := inv.Model.Map()
	objects, err := encode(registry, inv.Base)
	if err != nil {
		return err
	}
	first, err := json.Marshal(head{Base: inv.Base, Next: counter(registry), Installation: *installation(registry), Renamed: renamed(registry, inv.Base)})
	if err != nil {
		return err
	}
	if err := addEntry(archive, headEntry, first); err != nil {
		return err
	}
	if err := addEntry(archive, objectsEntry, objects); err != nil {
		return err
	}
	if err := addFiles(archive, filesDir); err != nil {
		return err
	}
	return archive.Close()
}

// encode returns the changeable objects as XML elements, parents first.
func encode(registry *simulator.Registry, base []string) ([]byte, error) {
	fixed := map[string]bool{}
	for _, line := range base {
		ref, _, _ := strings.Cut(line, " ")
		fixed[ref] = true
	}
	ctx := &simulator.Context{Map: registry}
	var out bytes.Buffer
	enc := xml.NewEncoder(&out)
	for _, kind := range []string{"Folder", "ResourcePool", "VirtualMachine", "VirtualMachineSnapshot"} {
		for _, obj := range byNumber(registry.AllReference(kind)) {
			if fixed[obj.Reference().String()] {
				continue
			}
			var err error
			ctx.WithLock(obj, func() {
				// The previous holder of the lock may have released it.
				if registry.Get(obj.Reference()) != nil {
					err = enc.Encode(managed(obj))
				}
			})
			if err != nil {
				return nil, fmt.Errorf("encode %s: %w", obj.Reference(), err)
			}
		}
	}
	return out.Bytes(), enc.Flush()
}

// renamed returns the current names of the fixed entities that were renamed.
func renamed(registry *simulator.Registry, base []string) map[string]string {
	out := map[string]string{}
	ctx := &simulator.Context{Map: registry}
	for _, line := range base {
		text, first, _ := strings.Cut(line, " ")
		if e := entity(registry, text); e != nil {
			ctx.WithLock(e, func() {
				if now := *inventory.Name(e); now != first {
					out[text] = now
				}
			})
		}
	}
	return out
}

// entity returns the entity of a reference, nil if it is not found.
func entity(registry *simulator.Registry, text string) mo.Entity {
	var ref types.ManagedObjectReference
	if !ref.FromString(text) {
		return nil
	}
	e, _ := registry.Get(ref).(mo.Entity)
	return e
}

func managed(obj mo.Reference) any {
	switch x := obj.(type) {
	case *simulator.Folder:
		return &x.Folder
	case *simulator.ResourcePool:
		return &x.ResourcePool
	case *simulator.VirtualMachine:
		return &x.VirtualMachine
	case *simulator.VirtualMachineSnapshot:
		return &x.VirtualMachineSnapshot
	}
	return obj
}

// installation is the instance UUID of the vCenter. It is generated for a new inventory and never changes.
func installation(registry *simulator.Registry) *string {
	return &registry.Get(vim25.ServiceInstance).(*simulator.ServiceInstance).Content.About.InstanceUuid
}

// counter returns the highest number of a reference. It cannot be queried, so one reference is used up.
func counter(registry *simulator.Registry) int64 {
	probe := &simulator.VirtualMachine{}
	probe.Self.Type = "VirtualMachine"
	registry.NewEntity(probe)
	return number(probe.Self)
}

func addEntry(archive *tar.Writer, name string, content []byte) error {
	header := &tar.Header{Name: name, Mode: 0o600, Size: int64(len(content)), ModTime: time.Now()}
	if err := archive.WriteHeader(header); err != nil {
		return fmt.Errorf("add %s: %w", name, err)
	}
	_, err := archive.Write(content)
	return err
}

// addFiles adds the files of the datastores. Libraries are published again at every start.
func addFiles(archive *tar.Writer, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), "contentlib-") {
			return filepath.SkipDir
		}
		relative, err := filepath.Rel(dir, path)
		if err != nil || relative == "." {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name := filesPrefix + filepath.ToSlash(relative)
		if entry.IsDir() {
			return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700, ModTime: info.ModTime()})
		}
		if !info.Mode().IsRegular() {
			return nil
		}
		return addFile(archive, path, name)
	})
}

func addFile(archive *tar.Writer, path, name string) error {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return addEntry(archive, name, content)
}
