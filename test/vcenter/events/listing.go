// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package events

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/test/vcenter/strict"
)

// VM is the real state of a virtual machine, independent of what clients see.
type VM struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	InstanceUUID string `json:"instanceUUID"`
	PowerState   string `json:"powerState"`
	// Folder is the managed object ID of the folder.
	Folder   string `json:"folder"`
	Template bool   `json:"template,omitempty"`
	// State is the connection state that clients see.
	State string `json:"state"`
	// Path is the path of the .vmx file.
	Path string `json:"path"`
}

// VMs lists all virtual machines of the inventory, ordered by name and ID.
func (e *Events) VMs() []VM {
	ctx := strict.Acting(e.registry)
	var all []VM
	for _, entity := range e.registry.All("VirtualMachine") {
		vm, ok := entity.(*simulator.VirtualMachine)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			v := VM{
				ID: vm.Self.Value, Name: vm.Name, InstanceUUID: vm.Config.InstanceUuid, PowerState: string(vm.Runtime.PowerState),
				Template: vm.Config.Template, State: string(vm.Runtime.ConnectionState), Path: vm.Config.Files.VmPathName,
			}
			if vm.Parent != nil {
				v.Folder = vm.Parent.Value
			}
			all = append(all, v)
		})
	}
	for i := range all {
		if d, ok := e.sight.Disguise(types.ManagedObjectReference{Type: "VirtualMachine", Value: all[i].ID}); ok {
			all[i].State = string(d.State)
		}
	}
	slices.SortFunc(all, func(a, b VM) int { return strings.Compare(a.Name+"\x00"+a.ID, b.Name+"\x00"+b.ID) })
	return all
}

// Files lists the files and directories of all datastores as datastore paths, but
// not those of content libraries. Directories end in a slash.
func (e *Events) Files() ([]string, error) {
	strict.AwaitRemovals(strict.Acting(e.registry))
	var all []string
	for _, entity := range e.registry.All("Datastore") {
		ds, ok := entity.(*simulator.Datastore)
		if !ok {
			continue
		}
		root := ds.Summary.Url
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			relative, _ := filepath.Rel(root, path)
			switch {
			case err != nil:
				return err
			case relative == ".":
				return nil
			case d.IsDir() && strings.HasPrefix(relative, "contentlib-"):
				return fs.SkipDir
			case d.IsDir():
				relative += "/"
			}
			all = append(all, "["+ds.Name+"] "+relative)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("list datastore %s: %w", ds.Name, err)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Task is a task that has not completed.
type Task struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Entity string `json:"entity"`
	State  string `json:"state"`
}

// Tasks lists the queued and running tasks.
func (e *Events) Tasks() []Task {
	ctx := strict.Acting(e.registry)
	all := []Task{}
	for _, obj := range e.registry.AllReference("Task") {
		task, ok := obj.(*simulator.Task)
		if !ok || !e.sight.Exists(task.Self) {
			continue
		}
		var info types.TaskInfo
		ctx.WithLock(task, func() { info = task.Info })
		if info.State != types.TaskInfoStateQueued && info.State != types.TaskInfoStateRunning {
			continue
		}
		t := Task{ID: info.Key, Name: info.Name, State: string(info.State)}
		if info.Entity != nil {
			t.Entity = info.Entity.Value
		}
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Task) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// below reports whether the virtual machine is in the folder or a descendant of it.
func (e *Events) below(id string, folder types.ManagedObjectReference) bool {
	ref := types.ManagedObjectReference{Type: "VirtualMachine", Value: id}
	for {
		entity, ok := e.registry.Get(ref).(mo.Entity)
		if !ok || entity.Entity().Parent == nil {
			return false
		}
		if ref = *entity.Entity().Parent; ref == folder {
			return true
		}
	}
}

// moveBack moves a virtual machine into its previous folder.
func (e *Events) moveBack(d Disturbance) error {
	vm, err := e.vm(d.VM)
	if err != nil {
		return err
	}
	folder, ok := e.registry.Get(types.ManagedObjectReference{Type: "Folder", Value: d.before}).(*simulator.Folder)
	if !ok {
		return fmt.Errorf("move %s back: folder %s is deleted", d.Name, d.before)
	}
	_, err = e.moveTo(vm, folder)
	return err
}
