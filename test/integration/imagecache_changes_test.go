// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/vim25/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// parent returns the file that the only disk of a virtual machine depends on.
func (w *world) parent(name string) string {
	w.t.Helper()
	vm, err := find.NewFinder(simulated.Operator(w.t, w.ready).Client).VirtualMachine(w.t.Context(), "/DC0/vm/slipway/"+imageNamespace+"/"+name)
	if err != nil {
		w.t.Fatal(err)
	}
	devices, err := vm.Device(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		if b, ok := d.GetVirtualDevice().Backing.(*types.VirtualDiskFlatVer2BackingInfo); ok && b.Parent != nil {
			return b.Parent.FileName
		}
	}
	w.t.Fatalf("the disk of %s depends on none", name)
	return ""
}

// only returns the only cache.
func (w *world) only() *vmv1alpha1.VirtualMachineImageCache {
	w.t.Helper()
	all, err := w.VmV1alpha1().VirtualMachineImageCaches().List(w.t.Context(), metav1.ListOptions{})
	if err != nil || len(all.Items) != 1 {
		w.t.Fatalf("caches %+v, %v, want one", all, err)
	}
	return &all.Items[0]
}

func TestImageCache_CopiesANewVersionAndKeepsTheOldOneWhileUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("a")
	image := w.images(1)[0]
	w.deploy("old", image, vmv1alpha1.FastDeployLinked)
	w.created("old")
	before := w.only().Status.Locations[0]
	first.stop() // the observed state of an item is cached for some time
	if err := contentlibrary.Update(t.Context(), w.library(), image); err != nil {
		t.Fatal(err)
	}
	second := w.start("a")
	w.deploy("new", image, vmv1alpha1.FastDeployLinked)
	w.created("new")
	now := w.until(w.only().Name, "has the new version", ready).Status.Locations[0]
	if now.Directory == before.Directory || now.ContentVersion == before.ContentVersion {
		t.Errorf("version %s is in %s, and version %s was in %s: want another directory", now.ContentVersion, now.Directory, before.ContentVersion, before.Directory)
	}
	for name, directory := range map[string]string{"old": before.Directory, "new": now.Directory} {
		if parent := w.parent(name); !strings.HasPrefix(parent, directory+"/") {
			t.Errorf("the disk of %s depends on %s, want one in %s", name, parent, directory)
		}
	}
	// Repeated requests with a directory that no object refers to.
	var inUse *provider.ImageInUseError
	if err := second.driver.ImageFiles().Remove(t.Context(), before.DatastoreID, before.Directory); !errors.As(err, &inUse) {
		t.Errorf("removing the old copies: %v, want that they are in use", err)
	}
	if broken := w.broken(); len(broken) != 0 {
		t.Errorf("virtual machines have lost disks that they depend on: %q", broken)
	}
	w.destroy("old")
	simulated.Eventually(t, "the old copies are deleted, and the new ones are not", func() bool {
		left := datastorePaths(w.directories("LocalDS_0"))
		return len(left) == 1 && left[0] == now.Directory+"/"
	})
	if broken := w.broken(); len(broken) != 0 {
		t.Errorf("virtual machines have lost disks that they depend on: %q", broken)
	}
}

func TestImageCache_KeepsCopiesOfARenamedDatastore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("a")
	image := w.images(1)[0]
	w.deploy("before", image, vmv1alpha1.FastDeployLinked)
	w.created("before")
	first.stop()
	w.order(http.MethodPost, "/datastore/rename", "from", "LocalDS_0", "to", "ssd")
	w.datastore = "ssd"
	w.start("a")
	w.deploy("after", image, vmv1alpha1.FastDeployLinked)
	w.created("after")
	c := w.until(w.only().Name, "is ready", ready)
	if len(c.Status.Locations) != 1 || !strings.HasPrefix(c.Status.Locations[0].Directory, "[ssd] ") {
		t.Errorf("locations %+v, want the previous one with its new name", c.Status.Locations)
	}
	if before, after := w.parent("before"), w.parent("after"); before != after {
		t.Errorf("the disks depend on %s and on %s, want the same copy", before, after)
	}
	if copied := slices.DeleteFunc(w.events.of(), func(r string) bool { return r != "Copied" }); len(copied) != 1 {
		t.Errorf("the image was copied %d times, want once", len(copied))
	}
}

func TestImageCache_ReportsTheLastUseOfALocation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("a")
	image := w.images(1)[0]
	began := time.Now().Truncate(time.Minute)
	w.deploy("web", image, vmv1alpha1.FastDeployDirect)
	w.created("web")
	// It is checked once a minute, and when the cache is changed.
	look := func(datastore string) {
		c := w.only()
		c.Spec.Locations = append(c.Spec.Locations, on(datastore))
		if _, err := w.VmV1alpha1().VirtualMachineImageCaches().Update(t.Context(), c, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	name := w.only().Name
	look("LocalDS_1")
	used := w.until(name, "was used", func(c *vmv1alpha1.VirtualMachineImageCache) bool {
		return len(c.Status.Locations) == 2 && c.Status.Locations[0].LastUsed != nil && ready(c)
	}).Status.Locations
	if used[0].LastUsed.Time.Before(began) || used[1].LastUsed != nil {
		t.Errorf("used at %v and at %v, want the first since %v, and the second never", used[0].LastUsed, used[1].LastUsed, began)
	}
	first.stop()
	w.start("a") // a new process has no in-memory state
	look("none")
	again := w.until(name, "was checked", func(c *vmv1alpha1.VirtualMachineImageCache) bool { return len(c.Status.Locations) == 3 }).Status.Locations
	if !again[0].LastUsed.Equal(used[0].LastUsed) {
		t.Errorf("after a restart it was used at %v, and at %v before", again[0].LastUsed, used[0].LastUsed)
	}
}

func TestImageCache_HasCopiesForEachVCenter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := &world{t: t, ready: simulated.Start(t)}
	w.more = map[string]vcenter.Ready{"b": b.ready}
	w.start("a")
	at := on("LocalDS_0")
	at.VCenter = "b"
	w.create("photon", on("LocalDS_0"), at)
	c := w.until("photon", "is ready", ready)
	for _, l := range c.Status.Locations {
		in := w
		if l.VCenter == "b" {
			in = b
		}
		if got := datastorePaths(in.directories("LocalDS_0")); len(got) != 1 || got[0] != l.Directory+"/" {
			t.Errorf("VCenter %s has the directories %q, want %s", l.VCenter, got, l.Directory)
		}
	}
	c.Spec.Locations = c.Spec.Locations[:1]
	if _, err := w.VmV1alpha1().VirtualMachineImageCaches().Update(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	simulated.Eventually(t, "VCenter b has no copies", func() bool { return len(b.below("LocalDS_0")) == 0 })
	c = w.until("photon", "has one location", func(c *vmv1alpha1.VirtualMachineImageCache) bool { return len(c.Status.Locations) == 1 && ready(c) })
	if got := datastorePaths(w.directories("LocalDS_0")); len(got) != 1 || got[0] != c.Status.Locations[0].Directory+"/" {
		t.Errorf("the default VCenter has the directories %q, want %s", got, c.Status.Locations[0].Directory)
	}
}
