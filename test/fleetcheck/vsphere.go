// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package fleetcheck

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/vmware/govmomi"
	vsphere "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"

	"github.com/slipway-dev/slipway/test/vsphereclient"
)

func (c *Checker) lookAtVSphere(ctx context.Context, seen *Sight) error {
	client, logout, err := Connect(ctx, c.cluster)
	if err != nil {
		return err
	}
	defer logout()
	var folders []mo.Folder
	if err := vsphereclient.Everything(ctx, client, "Folder", []string{"name", "parent"}, &folders); err != nil {
		return err
	}
	paths := pathsOf(folders)
	for _, p := range paths {
		if below, ok := strings.CutPrefix(p, ManagedFolder+"/"); ok {
			seen.folders = append(seen.folders, below)
		}
	}
	var vms []mo.VirtualMachine
	if err := vsphereclient.Everything(ctx, client, "VirtualMachine", []string{"name", "parent", "config", "runtime.powerState", "layoutEx"}, &vms); err != nil {
		return err
	}
	seen.foreign = map[string]string{}
	for i := range vms {
		v := &vms[i]
		folder := ""
		if v.Parent != nil {
			folder = paths[*v.Parent]
		}
		if c.IsForeign(v) {
			if seen.foreign[v.Name], err = fingerprint(v); err != nil {
				return err
			}
			continue
		}
		seen.machines = append(seen.machines, machineOf(v, folder))
	}
	seen.directories, err = c.directoriesOf(ctx, client)
	return err
}

// pathsOf returns the inventory paths of folders of VMs.
func pathsOf(folders []mo.Folder) map[vimtypes.ManagedObjectReference]string {
	byRef := map[vimtypes.ManagedObjectReference]mo.Folder{}
	for _, f := range folders {
		byRef[f.Self] = f
	}
	paths := map[vimtypes.ManagedObjectReference]string{}
	for _, f := range folders {
		p, at := "", f
		for at.Parent != nil && at.Parent.Type == "Folder" {
			p, at = "/"+at.Name+p, byRef[*at.Parent]
		}
		if at.Name == "vm" {
			paths[f.Self] = "/DC0/vm" + p
		}
	}
	return paths
}

func machineOf(v *mo.VirtualMachine, folder string) vm {
	m := vm{moID: v.Self.Value, name: v.Name, folder: strings.TrimPrefix(folder, ManagedFolder+"/"),
		on: v.Runtime.PowerState == vimtypes.VirtualMachinePowerStatePoweredOn, readable: v.Config != nil}
	if v.Config == nil {
		return m
	}
	m.owner = observe.ExtraConfig(v, observe.OwnerKey)
	m.vcpus, m.memMB = v.Config.Hardware.NumCPU, v.Config.Hardware.MemoryMB
	m.directory = path.Dir(v.Config.Files.VmPathName)
	return m
}

// fingerprint contains the attributes that another client could change.
func fingerprint(v *mo.VirtualMachine) (string, error) {
	text, err := json.Marshal(struct {
		Name   string
		Parent *vimtypes.ManagedObjectReference
		Config *vimtypes.VirtualMachineConfigInfo
		Power  vimtypes.VirtualMachinePowerState
		Layout *vimtypes.VirtualMachineFileLayoutEx
	}{v.Name, v.Parent, v.Config, v.Runtime.PowerState, v.LayoutEx})
	return string(text), err
}

// directoriesOf returns the directories of VMs on all datastores, without those that existed before the test.
func (c *Checker) directoriesOf(ctx context.Context, client *govmomi.Client) ([]string, error) {
	var stores []mo.Datastore
	if err := vsphereclient.Everything(ctx, client, "Datastore", []string{"name", "browser"}, &stores); err != nil {
		return nil, err
	}
	var found []string
	for _, store := range stores {
		root := "[" + store.Name + "]"
		browser := vsphere.NewHostDatastoreBrowser(client.Client, store.Browser)
		task, err := browser.SearchDatastoreSubFolders(ctx, root, &vimtypes.HostDatastoreBrowserSearchSpec{MatchPattern: []string{"*"}})
		if err != nil {
			return nil, fmt.Errorf("searching datastore %s: %w", store.Name, err)
		}
		info, err := task.WaitForResult(ctx)
		if err != nil {
			return nil, fmt.Errorf("searching datastore %s: %w", store.Name, err)
		}
		results, ok := info.Result.(vimtypes.ArrayOfHostDatastoreBrowserSearchResults)
		if !ok {
			return nil, fmt.Errorf("searching datastore %s: the answer is a %T", store.Name, info.Result)
		}
		for _, r := range results.HostDatastoreBrowserSearchResults {
			// The simulator separates datastore and path by a slash, vCenter by a space.
			directory := strings.Replace(strings.TrimRight(r.FolderPath, "/ "), "]/", "] ", 1)
			if directory != root && !c.directories[directory] {
				found = append(found, directory)
			}
		}
	}
	return found, nil
}
