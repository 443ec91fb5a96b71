// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// cachedDisk is the path of the copy of the image's disk.
const cachedDisk = "[LocalDS_0] images/photon-5/disk.vmdk"

// datastoreFiles lists and creates the files of a datastore in an administrator's session.
type datastoreFiles struct {
	t  *testing.T
	ds *object.Datastore
	dc *object.Datacenter
}

func datastoreOf(t *testing.T, ready vcenter.Ready) datastoreFiles {
	t.Helper()
	finder := find.NewFinder(admin(t, ready).Client)
	dc, err := finder.Datacenter(t.Context(), "DC0")
	if err != nil {
		t.Fatal(err)
	}
	ds, err := finder.SetDatacenter(dc).Datastore(t.Context(), "LocalDS_0")
	if err != nil {
		t.Fatal(err)
	}
	return datastoreFiles{t, ds, dc}
}

// list returns the names of the files in a directory. It returns nil if the directory does not
// exist.
func (f datastoreFiles) list(dir string) []string {
	f.t.Helper()
	b, err := f.ds.Browser(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	task, err := b.SearchDatastore(f.t.Context(), f.ds.Path(dir), &vimtypes.HostDatastoreBrowserSearchSpec{MatchPattern: []string{"*"}})
	if err != nil {
		f.t.Fatal(err)
	}
	info, err := task.WaitForResult(f.t.Context())
	if fault.Is(err, &vimtypes.FileNotFound{}) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	names := []string{}
	for _, file := range info.Result.(vimtypes.HostDatastoreBrowserSearchResults).File {
		names = append(names, path.Base(file.GetFileInfo().Path))
	}
	slices.Sort(names)
	return names
}

func (f datastoreFiles) do(err error) {
	f.t.Helper()
	if err != nil && !fault.Is(err, &vimtypes.FileAlreadyExists{}) {
		f.t.Fatal(err)
	}
}

// createDisk creates a disk of 16 GiB.
func (f datastoreFiles) createDisk(file string) {
	f.t.Helper()
	ctx := f.t.Context()
	f.do(object.NewFileManager(f.ds.Client()).MakeDirectory(ctx, path.Dir(file), f.dc, true))
	task, err := object.NewVirtualDiskManager(f.ds.Client()).CreateVirtualDisk(ctx, file, f.dc, &vimtypes.FileBackedVirtualDiskSpec{
		VirtualDiskSpec: vimtypes.VirtualDiskSpec{DiskType: "thin", AdapterType: "lsiLogic"}, CapacityKb: 16 << 20})
	f.do(err)
	f.do(task.Wait(ctx))
}

// cacheOf returns an image cache with the copies of the image.
func cacheOf(f datastoreFiles) *vmv1alpha1.VirtualMachineImageCache {
	c := &vmv1alpha1.VirtualMachineImageCache{ObjectMeta: metav1.ObjectMeta{Name: "photon", UID: "cache", ResourceVersion: "1"}}
	c.Spec.ContentLibrary = *libraryImage().Spec.ContentLibrary
	c.Status.Locations = []vmv1alpha1.VirtualMachineImageCacheLocationStatus{{
		VCenter: vmv1alpha1.DefaultVCenter, DatastoreID: f.ds.Reference().Value, Directory: "[LocalDS_0] images/photon-5",
		Files:      []vmv1alpha1.VirtualMachineImageCacheFile{{ID: "file1", Path: cachedDisk, Type: vmv1alpha1.CachedFileDisk}},
		Conditions: []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
	}}
	return c
}

// fastRequest returns a request for a VM that is created from copies of its image.
func fastRequest(name string, mode vmv1alpha1.FastDeployMode, cache *vmv1alpha1.VirtualMachineImageCache) *provider.Request {
	req := newRequest(name, libraryImage())
	req.FastDeploy, req.ImageCache = mode, cache
	req.VM.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeDisabled
	return req
}

// parentsOf returns the disks of a VM and the files that they depend on.
func parentsOf(t *testing.T, ready vcenter.Ready, id string) (disks, parents []string) {
	t.Helper()
	vm := object.NewVirtualMachine(admin(t, ready).Client, vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: id})
	devices, err := vm.Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range devices.SelectByType((*vimtypes.VirtualDisk)(nil)) {
		b := d.GetVirtualDevice().Backing.(*vimtypes.VirtualDiskFlatVer2BackingInfo)
		disks = append(disks, b.FileName)
		if b.Parent != nil {
			parents = append(parents, b.Parent.FileName)
		}
	}
	return disks, parents
}

func TestFastDeploy_UsesCopiesAndKeepsThemAtDeletion(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	p, counted := startProvider(t, ready, nil)
	eventually(t, "the inventory is read", p.inventory.Synced)
	l := newLoop(t, p)
	for _, mode := range []vmv1alpha1.FastDeployMode{vmv1alpha1.FastDeployDirect, vmv1alpha1.FastDeployLinked} {
		t.Run(string(mode), func(t *testing.T) {
			f, l := datastoreFiles{t, f.ds, f.dc}, &loop{t: t, p: l.p, wake: l.wake}
			req := fastRequest("web-"+string(mode), mode, cacheOf(f))
			req.VM.CreationTimestamp = metav1.Now()
			before := counted.snapshot()
			l.until("the VM runs", isRunning(req), req)
			disks, parents := parentsOf(t, ready, req.VM.Status.UniqueID)
			dir := string(req.VM.UID)
			if diff := cmp.Diff([]string{"[LocalDS_0] " + dir + "/disk-0.vmdk"}, disks); diff != "" {
				t.Errorf("disks (-want +got):\n%s", diff)
			}
			var wantParents []string
			if mode == vmv1alpha1.FastDeployLinked {
				wantParents = []string{cachedDisk}
			}
			if diff := cmp.Diff(wantParents, parents); diff != "" {
				t.Errorf("parents (-want +got):\n%s", diff)
			}
			if got := bootDiskCapacity(req); got != "16Gi" {
				t.Errorf("the boot disk has %q, want 16Gi", got)
			}
			if got := reason(&req.VM.Status, vmv1alpha1.ConditionImageCacheReady); got != "True Succeeded" {
				t.Errorf("ImageCacheReady = %q", got)
			}
			total := 0
			for method, n := range counted.snapshot() {
				if n -= before[method]; n > 0 {
					total += n
					t.Logf("%s: %d", method, n)
				}
			}
			t.Logf("%d calls", total)
			checkNoOperation(t, p, req)
			l.remove(req)
			if left := f.list(dir); left != nil {
				t.Errorf("the directory of the VM still contains %q", left)
			}
			if got := f.list("images/photon-5"); !slices.Contains(got, "disk.vmdk") || !slices.Contains(got, "disk-flat.vmdk") {
				t.Errorf("the image directory contains %q", got)
			}
		})
	}
}

// vCenter deletes a disk with the last VM that uses it, regardless of which client created the disk.
func TestFastDeploy_KeepsTheParentDiskAtDeletion(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := fastRequest("web", vmv1alpha1.FastDeployLinked, cacheOf(f))
	l.until("the VM runs", isRunning(req), req)
	vm := object.NewVirtualMachine(admin(t, ready).Client, vimtypes.ManagedObjectReference{Type: "VirtualMachine", Value: req.VM.Status.UniqueID})
	// An edit of the VM may remove the setting that makes vCenter keep the disk.
	task, err := vm.Reconfigure(t.Context(), vimtypes.VirtualMachineConfigSpec{ExtraConfig: []vimtypes.BaseOptionValue{&vimtypes.OptionValue{Key: "vmprov.keepDisks", Value: ""}}})
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	l.remove(req)
	if got := f.list("images/photon-5"); !slices.Contains(got, "disk.vmdk") || !slices.Contains(got, "disk-flat.vmdk") {
		t.Errorf("the image directory contains %q", got)
	}
	if left := f.list(string(req.VM.UID)); left != nil {
		t.Errorf("the directory of the VM still contains %q", left)
	}
}

// The VM's directory may contain a detached disk that must be kept, because it is attached to another VM.
func TestLeftovers_AreRemovedExceptDisksOfOtherVMs(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	p, _ := startProvider(t, ready, nil)
	eventually(t, "the inventory is read", p.inventory.Synced)
	for name, kept := range map[string]bool{"disk-0.vmdk": false, "web_1.vmdk": true} {
		req := fastRequest("web", vmv1alpha1.FastDeployLinked, cacheOf(f))
		dir := string(req.VM.UID)
		f.createDisk("[LocalDS_0] " + dir + "/" + name)
		req.VM.DeletionTimestamp = new(metav1.Now())
		newLoop(t, p).remove(req)
		if left := f.list(dir); slices.Contains(left, name) != kept {
			t.Errorf("%s: the directory of the VM contains %q; want the file kept: %v", name, left, kept)
		}
	}
}

// The datastores of a zone apply to new VMs only, not to existing ones.
func TestDeletion_RemovesLeftoversAfterAChangeOfTheZone(t *testing.T) {
	t.Parallel()
	for name, datastores := range map[string][]string{"a missing datastore": {"LocalDS_0", "gone"}, "another datastore": {"LocalDS_1"}} {
		t.Run(name, func(t *testing.T) {
			ready := startVCenter(t)
			f := datastoreOf(t, ready)
			f.createDisk(cachedDisk)
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			req := fastRequest("web", vmv1alpha1.FastDeployLinked, cacheOf(f))
			l.until("the VM runs", isRunning(req), req)
			p.driver.SetZones(map[string]*vmv1alpha1.ZoneSpec{vmv1alpha1.DefaultZone: {
				Datacenter: "DC0", Cluster: "DC0_C0", Folder: "/DC0/vm/slipway", Storage: vmv1alpha1.ZoneStorage{Datastores: datastores}}})
			req.VM.DeletionTimestamp = new(metav1.Now())
			l.remove(req)
			// vCenter leaves files that it does not delete with the VM.
			dir := string(req.VM.UID)
			f.createDisk("[LocalDS_0] " + dir + "/disk-0.vmdk")
			if err := p.driver.newCreator(vmv1alpha1.DefaultZone).RemoveLeftovers(t.Context(), dir, "LocalDS_0"); err != nil {
				t.Error(err)
			}
			if left := f.list(dir); left != nil {
				t.Errorf("the directory of the VM still contains %q", left)
			}
		})
	}
}

func TestFastDeploy_RequestsMissingCopies(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	p, _ := startProvider(t, ready, nil)
	eventually(t, "the inventory is read", p.inventory.Synced)
	ask := func(req *provider.Request) *provider.ImageCacheNotReadyError {
		t.Helper()
		var notReady *provider.ImageCacheNotReadyError
		eventually(t, "the missing copy is reported", func() bool {
			_, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
			return errors.As(err, &notReady)
		})
		return notReady
	}
	notReady := ask(fastRequest("none", vmv1alpha1.FastDeployDirect, nil))
	want := &provider.ImageCacheNotReadyError{
		Name: provider.ImageCacheName(*libraryImage().Spec.ContentLibrary), Source: *libraryImage().Spec.ContentLibrary,
		Location:    vmv1alpha1.VirtualMachineImageCacheLocation{VCenter: "default", Datastore: "/DC0/datastore/LocalDS_0"},
		DatastoreID: f.ds.Reference().Value, Reason: "the image files are not on datastore LocalDS_0 yet",
	}
	if diff := cmp.Diff(want, notReady); diff != "" {
		t.Errorf("without a cache (-want +got):\n%s", diff)
	}
	for name, tc := range map[string]struct {
		change func(*vmv1alpha1.VirtualMachineImageCache)
		mode   vmv1alpha1.FastDeployMode
		reason string
		stale  bool
	}{
		"a missing copy, direct": {func(c *vmv1alpha1.VirtualMachineImageCache) {
			c.Status.Locations[0].Files[0].Path = "[LocalDS_0] images/photon-5/gone.vmdk"
		}, vmv1alpha1.FastDeployDirect, "the copy [LocalDS_0] images/photon-5/gone.vmdk no longer exists", true},
		"a missing copy, linked": {func(c *vmv1alpha1.VirtualMachineImageCache) {
			c.Status.Locations[0].Files[0].Path = "[LocalDS_0] images/photon-5/gone.vmdk"
		}, vmv1alpha1.FastDeployLinked, "the copy [LocalDS_0] images/photon-5/gone.vmdk no longer exists", true},
		"copies in progress": {func(c *vmv1alpha1.VirtualMachineImageCache) {
			c.Status.Locations[0].Conditions[0].Status = metav1.ConditionFalse
		}, vmv1alpha1.FastDeployDirect, "the image files are not on datastore LocalDS_0 yet", false},
		"copies of another version": {func(c *vmv1alpha1.VirtualMachineImageCache) {
			c.Status.Locations[0].ContentVersion = "7"
		}, vmv1alpha1.FastDeployDirect, "the copies on datastore LocalDS_0 have version 7 of the image; its current version is ", true},
		"another disk": {func(c *vmv1alpha1.VirtualMachineImageCache) {
			c.Status.Locations[0].Files[0].ID = "file2"
		}, vmv1alpha1.FastDeployDirect, `the image has no copy of file "photon-5-disk1.vmdk"`, true},
		"copies of another policy": {func(c *vmv1alpha1.VirtualMachineImageCache) {
			c.Status.Locations[0].ProfileID = "gold"
		}, vmv1alpha1.FastDeployDirect, "the image files are not on datastore LocalDS_0 yet", false},
	} {
		t.Run(name, func(t *testing.T) {
			cache := cacheOf(f)
			tc.change(cache)
			req := fastRequest("a-"+strings.NewReplacer(" ", "-", ",", "").Replace(name), tc.mode, cache)
			notReady := ask(req)
			if notReady.Name != "photon" || !strings.HasPrefix(notReady.Reason, tc.reason) || notReady.Stale != tc.stale {
				t.Errorf("%+v, want cache photon, stale %v and %q", notReady, tc.stale, tc.reason)
			}
			if left := f.list(string(req.VM.UID)); left != nil {
				t.Errorf("remaining files on the datastore: %q", left)
			}
		})
	}
}

func TestFastDeploy_CopiesADiskThatCannotBeLinked(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	for name, tc := range map[string]struct {
		boot *vmv1alpha1.VirtualMachineBootDisk
		why  string
	}{
		"a larger boot disk": {&vmv1alpha1.VirtualMachineBootDisk{Capacity: ptr(resource.MustParse("20Gi"))},
			"bootDisk.size: 20Gi is more than the 16Gi of the image's disk, and vSphere cannot extend a linked disk"},
		"a thick boot disk": {&vmv1alpha1.VirtualMachineBootDisk{Provisioning: vmv1alpha1.DiskProvisioningThick},
			"bootDisk.provisioning: a linked disk cannot be Thick"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &loop{t: t, p: l.p, wake: l.wake}
			req := fastRequest(strings.ReplaceAll(name, " ", "-"), vmv1alpha1.FastDeployLinked, cacheOf(f))
			req.Effective.BootDisk = tc.boot
			l.until("the VM runs", isSynced(req), req)
			if _, parents := parentsOf(t, ready, req.VM.Status.UniqueID); len(parents) > 0 {
				t.Errorf("the VM's disks depend on %q", parents)
			}
			if got := message(&req.VM.Status, vmv1alpha1.ConditionImageCacheReady); !strings.HasSuffix(got, tc.why) {
				t.Errorf("message %q, want %q", got, tc.why)
			}
			if got := reason(&req.VM.Status, vmv1alpha1.ConditionImageCacheReady); got != "True DirectInstead" {
				t.Errorf("ImageCacheReady = %q", got)
			}
			if tc.boot.Capacity != nil && bootDiskCapacity(req) != "20Gi" {
				t.Errorf("the boot disk has %s, want 20Gi", bootDiskCapacity(req))
			}
		})
	}
}

// On vSAN the namespace manager creates top-level directories and chooses their names.
func TestFastDeploy_WorksWithoutTopLevelDirectories(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	f := datastoreOf(t, ready)
	f.createDisk(cachedDisk)
	control(t, ready, http.MethodPut, "/datastores/toplevel?datastore=LocalDS_0&allowed=false")
	before := ask(t, ready, http.MethodGet, "/datastores/list?datastore=LocalDS_0")
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	for _, mode := range []vmv1alpha1.FastDeployMode{vmv1alpha1.FastDeployDirect, vmv1alpha1.FastDeployLinked} {
		t.Run(string(mode), func(t *testing.T) {
			l := &loop{t: t, p: l.p, wake: l.wake}
			req := fastRequest("web-"+string(mode), mode, cacheOf(f))
			l.until("the VM runs", isRunning(req), req)
			if disks, _ := parentsOf(t, ready, req.VM.Status.UniqueID); len(disks) != 1 || strings.Contains(disks[0], string(req.VM.UID)) {
				t.Errorf("disks %q, want one in a directory whose name vSphere has chosen", disks)
			}
			l.remove(req)
			if diff := cmp.Diff(before, ask(t, ready, http.MethodGet, "/datastores/list?datastore=LocalDS_0")); diff != "" {
				t.Errorf("files on the datastore (-before +after):\n%s", diff)
			}
		})
	}
}
