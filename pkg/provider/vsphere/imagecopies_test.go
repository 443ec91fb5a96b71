// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vapi/library"
	vimtypes "github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vcenter/policies"
)

// copiesAt copies the files of an item to a location and returns an image cache with the copies.
func copiesAt(t *testing.T, p *Provider, item vmv1alpha1.ContentLibraryImageSource, location vmv1alpha1.VirtualMachineImageCacheLocation) *vmv1alpha1.VirtualMachineImageCache {
	t.Helper()
	copyLocation, err := p.driver.ImageFiles().Locate(t.Context(), item, location, provider.CacheLocation{})
	if err != nil {
		t.Fatal(err)
	}
	directory := copyLocation.Directory + "-aaaaaaaa"
	files, err := p.driver.ImageFiles().Copy(t.Context(), copyLocation, directory, func(int32) {})
	if err != nil {
		t.Fatal(err)
	}
	c := &vmv1alpha1.VirtualMachineImageCache{ObjectMeta: metav1.ObjectMeta{Name: "copies", UID: "cache", ResourceVersion: "1"}}
	c.Spec.ContentLibrary = item
	c.Status.Locations = []vmv1alpha1.VirtualMachineImageCacheLocationStatus{{
		VCenter: vmv1alpha1.DefaultVCenter, DatastoreID: copyLocation.DatastoreID, ProfileID: copyLocation.ProfileID, ItemID: copyLocation.ItemID, ContentVersion: copyLocation.ContentVersion,
		Directory: directory, Files: files, Conditions: []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue}},
	}}
	return c
}

// awaitTask waits for a task of an administrator.
func awaitTask(t *testing.T, task *object.Task, err error) {
	t.Helper()
	if err == nil {
		err = task.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// usedBy returns the VM that uses the copies in a directory. It is empty if the copies are not used.
func usedBy(t *testing.T, p *Provider, location provider.ImageCopyLocation, directory string) string {
	t.Helper()
	used, err := p.driver.ImageFiles().InUse(t.Context(), location.DatastoreID, []string{directory})
	if err != nil {
		t.Fatal(err)
	}
	return used[directory]
}

// An administrator may detach a disk that a snapshot of the virtual machine still uses.
func TestImageCopies_AreKeptForSnapshots(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p := startFiles(t, ready)
	cache := copiesAt(t, p, copiedItem, ssd)
	at := &cache.Status.Locations[0]
	l := newLoop(t, p)
	req := fastRequest("web", vmv1alpha1.FastDeployLinked, cache)
	createPoweredOff(l, req)
	vm := objectOf(t, ready, req)
	task, err := vm.CreateSnapshot(t.Context(), "before", "", false, false)
	awaitTask(t, task, err)
	devices, err := vm.Device(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := vm.RemoveDevice(t.Context(), true, devices.SelectByType((*vimtypes.VirtualDisk)(nil))...); err != nil {
		t.Fatal(err)
	}
	if disks, parents := parentsOf(t, ready, req.VM.Status.UniqueID); len(disks)+len(parents) != 0 {
		t.Fatalf("the VM still has the disks %q with parents %q", disks, parents)
	}
	location := provider.ImageCopyLocation{DatastoreID: at.DatastoreID}
	if got := usedBy(t, p, location, at.Directory); !strings.Contains(got, "web") {
		t.Errorf("the copies are used by %q, want the VM whose snapshot uses them", got)
	}
	var inUse *provider.ImageInUseError
	if err := p.driver.ImageFiles().Remove(t.Context(), at.DatastoreID, at.Directory); !errors.As(err, &inUse) {
		t.Errorf("removing the copies: %v, want an in-use error", err)
	}
	// The paths in a snapshot may keep the previous name of a renamed datastore.
	control(t, ready, http.MethodPost, "/datastore/rename?from=LocalDS_0&to=ssd")
	renamed := strings.Replace(at.Directory, "[LocalDS_0]", "[ssd]", 1)
	if got := usedBy(t, p, location, renamed); !strings.Contains(got, "web") {
		t.Errorf("after a rename of the datastore the copies are used by %q, want the VM whose snapshot uses them", got)
	}
	task, err = vm.RemoveAllSnapshot(t.Context(), nil)
	awaitTask(t, task, err)
	if err := p.driver.ImageFiles().Remove(t.Context(), at.DatastoreID, renamed); err != nil {
		t.Errorf("removing the copies without the snapshot: %v", err)
	}
}

func TestImageCopies_AreFoundAfterARename(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p := startFiles(t, ready)
	cache := copiesAt(t, p, copiedItem, ssd)
	at := &cache.Status.Locations[0]
	l := newLoop(t, p)
	req := fastRequest("web", vmv1alpha1.FastDeployLinked, cache)
	l.until("the VM runs", isRunning(req), req)
	control(t, ready, http.MethodPost, "/datastore/rename?from=LocalDS_0&to=renamed")
	files := p.driver.ImageFiles()
	for _, location := range []vmv1alpha1.VirtualMachineImageCacheLocation{ssd, {Datastore: "/DC0/datastore/LocalDS_0"}, {Datastore: "LocalDS_0", StoragePolicy: "Bronze"}} {
		before := provider.CacheLocation{VCenter: vmv1alpha1.DefaultVCenter, DatastoreID: at.DatastoreID}
		if location.StoragePolicy != "" {
			before.ProfileID = policyID(t, p, policies.Silver)
		}
		located, err := files.Locate(t.Context(), copiedItem, location, before)
		if err != nil {
			t.Fatalf("%+v: %v", location, err)
		}
		if located.DatastoreID != at.DatastoreID || located.ProfileID != before.ProfileID || !strings.HasPrefix(located.Directory, "[renamed] ") {
			t.Errorf("%+v is at %+v, want the same location with the new name", location, located)
		}
		if location.StoragePolicy != "" {
			continue // it has no copies
		}
		for i := range at.Files {
			at.Files[i].Path = located.WithCurrentDatastore(at.Files[i].Path)
		}
		if missing, err := files.Missing(t.Context(), located, located.WithCurrentDatastore(at.Directory), at.Files); err != nil || len(missing) > 0 {
			t.Errorf("%+v: the copies %q are missing, error %v", location, missing, err)
		}
		if got := usedBy(t, p, located, located.WithCurrentDatastore(at.Directory)); !strings.Contains(got, "web") {
			t.Errorf("%+v: the copies are used by %q, want the VM that depends on them", location, got)
		}
	}
	for _, before := range []provider.CacheLocation{{}, {DatastoreID: "datastore-none"}} {
		var notUsable *provider.NotUsableError
		if _, err := files.Locate(t.Context(), copiedItem, ssd, before); !errors.As(err, &notUsable) || !notUsable.Missing || !strings.Contains(err.Error(), `no datastore "LocalDS_0"`) {
			t.Errorf("after %+v: %v, want an error: no such datastore", before, err)
		}
	}
}

// policyID returns the ID of a storage policy.
func policyID(t *testing.T, p *Provider, name string) string {
	t.Helper()
	place, err := p.driver.ImageFiles().Locate(t.Context(), copiedItem, vmv1alpha1.VirtualMachineImageCacheLocation{Datastore: "LocalDS_1", StoragePolicy: name}, provider.CacheLocation{})
	if err != nil {
		t.Fatal(err)
	}
	return place.ProfileID
}

// Each policy has its own copies. A policy that encrypts has none, because its copies could not be read.
func TestFastDeploy_AppliesStoragePolicies(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	registerKeyProvider(t, ready)
	p := startFiles(t, ready)
	allowAllDatastores(p, vmv1alpha1.ZoneStorage{Policy: policies.Silver})
	l := newLoop(t, p)
	for name, tc := range map[string]struct {
		class, image string
		// wantPolicy is the policy of the requested copies.
		wantPolicy string
		linked     bool
	}{
		"gold":      {class: "gold", wantPolicy: policies.Gold, linked: true},
		"encrypted": {class: "encrypted"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &loop{t: t, p: l.p, wake: l.wake}
			req := classRequest("web-"+name, libraryImage(), tc.class)
			req.FastDeploy = vmv1alpha1.FastDeployLinked
			req.VM.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeDisabled
			var notReady *provider.ImageCacheNotReadyError
			eventually(t, "the missing copies are reported", func() bool {
				_, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
				return errors.As(err, &notReady)
			})
			if notReady.Location.StoragePolicy != tc.wantPolicy || (notReady.ProfileID != "") != (tc.wantPolicy != "") {
				t.Errorf("copies are requested at %+v with profile %q, want policy %q", notReady.Location, notReady.ProfileID, tc.wantPolicy)
			}
			req.ImageCache = copiesAt(t, p, notReady.Source, notReady.Location)
			if got := req.ImageCache.Status.Locations[0].ProfileID; got != notReady.ProfileID {
				t.Errorf("the copies have profile %q, want the VM's profile %q", got, notReady.ProfileID)
			}
			l.until("the VM runs and is compliant", func() bool {
				return isSynced(req)() && reason(&req.VM.Status, vmv1alpha1.ConditionStorageCompliant) == "True Succeeded"
			}, req)
			vm := inVCenter(t, ready)["team-a/web-"+name]
			if encrypted := vm.Config.KeyId != nil; encrypted != (tc.class == "encrypted") {
				t.Errorf("the VM is encrypted: %t", encrypted)
			}
			_, parents := parentsOf(t, ready, req.VM.Status.UniqueID)
			want, why := "True Succeeded", ""
			if !tc.linked {
				want, why = "True DirectInstead", `storage policy "`+policies.Encryption+`" requires encryption`
			}
			if got := reason(&req.VM.Status, vmv1alpha1.ConditionImageCacheReady); got != want || (len(parents) > 0) != tc.linked ||
				!strings.Contains(message(&req.VM.Status, vmv1alpha1.ConditionImageCacheReady), why) {
				t.Errorf("ImageCacheReady is %q and the disks depend on %q; want %q", got, parents, want)
			}
			if observe.IsLinked(&vm) != tc.linked {
				t.Errorf("the VM is marked as linked: %t", observe.IsLinked(&vm))
			}
			checkNoOperation(t, p, req)
			l.remove(req)
		})
	}
}

// subscribe creates a library that is subscribed to the library of the tests and has only its
// descriptors.
func subscribe(t *testing.T, ready vcenter.Ready, name string) {
	t.Helper()
	m := libraries(t, ready)
	published, err := m.GetLibraryByName(t.Context(), "slipway")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.CreateLibrary(t.Context(), library.Library{
		Name: name, Type: "SUBSCRIBED", Storage: published.Storage,
		Subscription: &library.Subscription{
			SubscriptionURL: "https://" + strings.TrimPrefix(m.URL().Host, "https://") + "/cls/vcsp/lib/" + published.ID, OnDemand: vimtypes.NewBool(true),
			AutomaticSyncEnabled: vimtypes.NewBool(false), AuthenticationMethod: "NONE",
		},
	}); err != nil {
		t.Fatal(err)
	}
}

func TestImageCopies_SynchronizeASubscribedItemFirst(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	subscribe(t, ready, "mirror")
	p, counted := startProvider(t, ready, nil)
	eventually(t, "the inventory is read", p.inventory.Synced)
	item := vmv1alpha1.ContentLibraryImageSource{Library: "mirror", Item: "photon-5"}
	grantRoot(t, ready, "ContentLibrary.SyncLibraryItem")
	place, err := p.driver.ImageFiles().Locate(t.Context(), item, ssd, provider.CacheLocation{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.driver.ImageFiles().Copy(t.Context(), place, place.Directory+"-bbbbbbbb", func(int32) {}); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("without the privilege: %v, want a forbidden error", err)
	}
	control(t, ready, http.MethodDelete, "/permissions?entity=%2F")
	cache := copiesAt(t, p, item, ssd)
	if n := counted.snapshot()["rest.SyncLibraryItem"]; n != 2 {
		t.Errorf("the item was synchronized %d times, want once without the privilege and once with it", n)
	}
	l := newLoop(t, p)
	req := fastRequest("web", vmv1alpha1.FastDeployLinked, cache)
	req.Image.Spec.ContentLibrary = item.DeepCopy()
	l.until("the VM runs", isRunning(req), req)
	copiesAt(t, p, item, vmv1alpha1.VirtualMachineImageCacheLocation{Datastore: "LocalDS_1"})
	if n := counted.snapshot()["rest.SyncLibraryItem"]; n != 2 {
		t.Errorf("the item was synchronized %d times although it was complete", n)
	}
}

// grantRoot grants the account all privileges on the root folder except one.
func grantRoot(t *testing.T, ready vcenter.Ready, omitted string) {
	t.Helper()
	control(t, ready, http.MethodPut, "/permissions?"+url.Values{"entity": {"/"}, "without": {omitted}}.Encode())
}
