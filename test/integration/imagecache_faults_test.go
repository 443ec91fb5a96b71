// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vapi/library"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

// An object that does not exist is reported with its name.
func TestImageCache_ReportsWhyALocationCannotBeUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("a")
	m := library.NewManager(w.library())
	l, err := m.GetLibraryByName(t.Context(), contentlibrary.Library)
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]string{"disc": library.ItemTypeISO, "empty": library.ItemTypeOVF, "notes": "text"} {
		if _, err := m.CreateLibraryItem(t.Context(), library.Item{Name: name, Type: kind, LibraryID: l.ID}); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name, item    string
		at            vmv1alpha1.VirtualMachineImageCacheLocation
		reason, named string
	}{
		{"no item", "none", on("LocalDS_0"), vmv1alpha1.ReasonNotFound, `no item "none"`},
		{"no library", "none/photon-5", on("LocalDS_0"), vmv1alpha1.ReasonNotFound, `no content library "none"`},
		{"an ISO", "disc", on("LocalDS_0"), vmv1alpha1.ReasonInvalid, `has type "iso"`},
		{"a text", "notes", on("LocalDS_0"), vmv1alpha1.ReasonInvalid, `has type "text"`},
		{"no content", "empty", on("LocalDS_0"), vmv1alpha1.ReasonInvalid, "descriptor"},
		{"no datastore", "photon-5", on("none"), vmv1alpha1.ReasonNotFound, `no datastore "none"`},
		{"no datastore at a path", "photon-5", on("/DC0/datastore/none"), vmv1alpha1.ReasonNotFound, `no datastore "/DC0/datastore/none"`},
		{"a path of something else", "photon-5", on("/DC0/vm/slipway"), vmv1alpha1.ReasonNotFound, `no datastore "/DC0/vm/slipway"`},
		{"no policy", "photon-5", vmv1alpha1.VirtualMachineImageCacheLocation{Datastore: "LocalDS_0", StoragePolicy: "none"}, vmv1alpha1.ReasonNotFound, `no storage policy "none"`},
		{"no vCenter", "photon-5", vmv1alpha1.VirtualMachineImageCacheLocation{VCenter: "none", Datastore: "LocalDS_0"}, vmv1alpha1.ReasonNotFound, "no VCenter none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := strings.ReplaceAll(strings.ToLower(test.name), " ", "-")
			w.createOf(name, test.item, test.at)
			c := w.until(name, "reports the error", func(c *vmv1alpha1.VirtualMachineImageCache) bool { return why(c) == test.reason })
			text := ""
			for _, condition := range c.Status.Locations[0].Conditions {
				text += condition.Message
			}
			if !strings.Contains(text, test.named) {
				t.Errorf("messages %q, want %s", text, test.named)
			}
			w.delete(name)
			w.awaitDeleted(name)
		})
	}
	if left := w.below("LocalDS_0"); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// A failed operation is repeated, and leaves no files.
func TestImageCache_RetriesAFailedCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("a")
	for _, test := range []struct{ name, call, fault string }{
		{"the directory cannot be made", "MakeDirectory", "CannotCreateFile"},
		{"no privilege", "MakeDirectory", "NoPermission"},
		{"the copy fails", "CopyVirtualDisk_Task", "CannotAccessFile"},
		{"the source is locked", "CopyVirtualDisk_Task", "FileLocked"},
		{"the source is deleted", "CopyVirtualDisk_Task", "FileNotFound"},
		{"a host does not answer", "CopyVirtualDisk_Task", "HostCommunication"},
		{"the datastore is full", "CopyVirtualDisk_Task", "NoDiskSpace"},
		{"the datastore is inaccessible", "CopyVirtualDisk_Task", "InaccessibleDatastore"},
		{"copied files cannot be listed", "SearchDatastore_Task", "SystemError"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.order(http.MethodPut, "/datastores/fault", "call", test.call, "fault", test.fault, "times", "1")
			w.create("photon", on("LocalDS_0"))
			w.until("photon", "is ready", ready)
			w.settled()
			w.delete("photon")
			w.awaitDeleted("photon")
		})
	}
}

// Otherwise some files would be of one version, and the others of another.
func TestImageCache_CopiesAnItemAgainIfItChangesDuringTheCopy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("a")
	w.order(http.MethodPut, "/datastores/disksize", "bytes", "10485760")
	w.order(http.MethodPut, "/datastores/rate", "bytes", "1048576")
	w.create("photon", on("LocalDS_0"))
	before := w.until("photon", "is being copied", func(c *vmv1alpha1.VirtualMachineImageCache) bool {
		return len(c.Status.Locations) > 0 && c.Status.Locations[0].Directory != "" && len(w.below("LocalDS_0")) > len(w.directories("LocalDS_0"))
	}).Status.Locations[0]
	if err := contentlibrary.Update(t.Context(), w.library(), contentlibrary.Item); err != nil {
		t.Fatal(err)
	}
	w.order(http.MethodPut, "/datastores/rate", "bytes", "0")
	now := w.until("photon", "is ready", ready).Status.Locations[0]
	if now.ContentVersion == before.ContentVersion || now.Directory == before.Directory {
		t.Errorf("version %s is in %s, and version %s was to be in %s", now.ContentVersion, now.Directory, before.ContentVersion, before.Directory)
	}
	w.settled()
}

func TestImageCache_CopiesADeletedFileAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.start("a")
	w.create("photon", on("LocalDS_0"))
	before := w.until("photon", "is ready", ready).Status.Locations[0]
	first.stop()
	w.order(http.MethodPost, "/datastores/delete", "path", before.Files[0].Path)
	w.start("a")
	w.until("photon", "has another copy", func(c *vmv1alpha1.VirtualMachineImageCache) bool {
		return ready(c) && c.Status.Locations[0].Directory != before.Directory
	})
	w.settled()
}

func TestImageCache_DeletesTheCopiesOfARemovedLocation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start("a")
	w.create("photon", on("LocalDS_0"), on("/DC0/datastore/LocalDS_1"))
	c := w.until("photon", "is ready", ready)
	if len(w.directories("LocalDS_1")) != 1 || len(w.directories("LocalDS_0")) != 1 {
		t.Fatalf("directories %q and %q, want one each", w.directories("LocalDS_0"), w.directories("LocalDS_1"))
	}
	c.Spec.Locations = c.Spec.Locations[:1]
	if _, err := w.VmV1alpha1().VirtualMachineImageCaches().Update(t.Context(), c, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.until("photon", "has one location", func(c *vmv1alpha1.VirtualMachineImageCache) bool { return len(c.Status.Locations) == 1 && ready(c) })
	simulated.Eventually(t, "nothing is left on the other datastore", func() bool { return len(w.below("LocalDS_1")) == 0 })
}

func TestImageCache_UsesADirectoryOfTheNamespaceManagerOnVSAN(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.order(http.MethodPut, "/datastores/toplevel", "datastore", "LocalDS_1", "allowed", "false")
	first := w.start("a")
	w.create("photon", on("LocalDS_1"))
	l := w.until("photon", "is ready", ready).Status.Locations[0]
	if strings.Contains(l.Directory, "slipway-images") {
		t.Errorf("directory %q, want one below a UUID", l.Directory)
	}
	first.stop()
	w.start("a") // the directory already exists
	w.createOf("appliance", "ubuntu-24.04-appliance", on("LocalDS_1"))
	w.until("appliance", "is ready", ready)
	for _, name := range []string{"photon", "appliance"} {
		w.delete(name)
		w.awaitDeleted(name)
	}
}
