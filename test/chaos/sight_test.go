// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi"
	vsphere "github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// ownFolder is the managed folder, and foreignFolder one beside it.
const ownFolder, foreignFolder = "/DC0/vm/slipway", "/DC0/vm/elsewhere"

// connect logs in to the vCenter; the caller logs out. A session is not kept: the
// storm ends them all.
func (s *storm) connect(ctx context.Context) (*govmomi.Client, func(), error) {
	v := s.cluster.VCenter()
	c, err := vsphereclient.Login(ctx, v.URL, v.CAFile, v.Username, v.Password)
	if err != nil {
		return nil, nil, err
	}
	return c, func() { _ = c.Logout(context.WithoutCancel(ctx)) }, nil
}

// look reads all sides, the wishful one first: what is made meanwhile is seen then.
func (s *storm) look(ctx context.Context) (sight, error) {
	seen := sight{}
	if err := s.lookAtVSphere(ctx, &seen); err != nil {
		return seen, err
	}
	if err := s.lookAtRevisions(ctx, &seen); err != nil {
		return seen, err
	}
	return seen, s.lookAtAPI(ctx, &seen)
}

func (s *storm) lookAtAPI(ctx context.Context, seen *sight) error {
	seen.objects, seen.instances, seen.running = map[string]object{}, map[string]bool{}, nil
	list, err := s.api.VmV1alpha1().VirtualMachines("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing virtual machines: %w", err)
	}
	for i := range list.Items {
		o := &list.Items[i]
		seen.objects[o.Namespace+"/"+o.Name] = objectOf(o)
	}
	instances, err := s.api.VmV1alpha1().VirtualMachineInstances("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing instances: %w", err)
	}
	for _, i := range instances.Items {
		seen.instances[i.Namespace+"/"+i.Name] = true
		// What a machine runs with stays until it is restarted.
		for _, r := range []*vmv1alpha1.AppliedRevision{i.Spec.Instancetype, i.Spec.Preference} {
			if r != nil {
				seen.running = append(seen.running, i.Namespace+"/"+r.RevisionName)
			}
		}
	}
	return nil
}

func objectOf(o *vmv1alpha1.VirtualMachine) object {
	seen := object{
		uid: string(o.UID), moID: o.Status.UniqueID, power: string(o.Status.PowerState),
		deleting: o.DeletionTimestamp != nil, waits: len(o.Status.RestartRequired) > 0,
	}
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			seen.ready = c.Status == metav1.ConditionTrue
		}
		if c.Status != metav1.ConditionTrue {
			seen.says += fmt.Sprintf("%s=%s (%s: %s) ", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	if r := o.Status.InstancetypeRef; r != nil && r.ControllerRevisionRef != nil {
		seen.revisions = append(seen.revisions, o.Namespace+"/"+r.ControllerRevisionRef.Name)
	}
	if r := o.Status.PreferenceRef; r != nil && r.ControllerRevisionRef != nil {
		seen.revisions = append(seen.revisions, o.Namespace+"/"+r.ControllerRevisionRef.Name)
	}
	return seen
}

func (s *storm) lookAtRevisions(ctx context.Context, seen *sight) error {
	seen.revisions = map[string]bool{}
	revisions, err := s.api.InstancetypeV1alpha1().ControllerRevisions("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing revisions: %w", err)
	}
	for _, r := range revisions.Items {
		seen.revisions[r.Namespace+"/"+r.Name] = true
	}
	return nil
}

func (s *storm) lookAtVSphere(ctx context.Context, seen *sight) error {
	c, logout, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer logout()
	var folders []mo.Folder
	if err := everything(ctx, c, "Folder", []string{"name", "parent"}, &folders); err != nil {
		return err
	}
	paths := pathsOf(folders)
	for _, p := range paths {
		if below, ok := strings.CutPrefix(p, ownFolder+"/"); ok {
			seen.folders = append(seen.folders, below)
		}
	}
	var vms []mo.VirtualMachine
	if err := everything(ctx, c, "VirtualMachine", []string{"name", "parent", "config", "runtime.powerState", "layoutEx"}, &vms); err != nil {
		return err
	}
	seen.foreign = map[string]string{}
	for i := range vms {
		v := &vms[i]
		folder := ""
		if v.Parent != nil {
			folder = paths[*v.Parent]
		}
		if s.isForeign(v) {
			if seen.foreign[v.Name], err = fingerprint(v); err != nil {
				return err
			}
			continue
		}
		seen.machines = append(seen.machines, machineOf(v, folder))
	}
	seen.directories, err = s.directories(ctx, c)
	return err
}

// everything reads all objects of a kind, wherever they are.
func everything(ctx context.Context, c *govmomi.Client, kind string, properties []string, into any) error {
	v, err := view.NewManager(c.Client).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{kind}, true)
	if err != nil {
		return fmt.Errorf("listing each %s: %w", kind, err)
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }()
	if err := v.Retrieve(ctx, []string{kind}, properties, into); err != nil {
		return fmt.Errorf("reading each %s: %w", kind, err)
	}
	return nil
}

// pathsOf are the inventory paths of folders of machines.
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
	m := vm{moID: v.Self.Value, name: v.Name, folder: strings.TrimPrefix(folder, ownFolder+"/"),
		on: v.Runtime.PowerState == vimtypes.VirtualMachinePowerStatePoweredOn, readable: v.Config != nil}
	if v.Config == nil {
		return m
	}
	m.owner = observe.ExtraConfig(v, observe.OwnerKey)
	m.vcpus, m.memMB = v.Config.Hardware.NumCPU, v.Config.Hardware.MemoryMB
	m.directory = path.Dir(v.Config.Files.VmPathName)
	return m
}

// fingerprint is all that a change from outside would change.
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

// directories of machines on all datastores, those that were there before left out.
func (s *storm) directories(ctx context.Context, c *govmomi.Client) ([]string, error) {
	var stores []mo.Datastore
	if err := everything(ctx, c, "Datastore", []string{"name", "browser"}, &stores); err != nil {
		return nil, err
	}
	var found []string
	for _, store := range stores {
		root := "[" + store.Name + "]"
		browser := vsphere.NewHostDatastoreBrowser(c.Client, store.Browser)
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
			// The simulator separates datastore and path by a slash, vCenter by a blank.
			directory := strings.Replace(strings.TrimRight(r.FolderPath, "/ "), "]/", "] ", 1)
			if directory != root && !slices.Contains(s.oldDirectories, directory) {
				found = append(found, directory)
			}
		}
	}
	return found, nil
}
