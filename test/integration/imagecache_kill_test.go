// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/simulated"
)

// held waits until a call is held.
func (w *world) held(method string) {
	w.t.Helper()
	simulated.Eventually(w.t, method+" waits", func() bool {
		var all map[string]int
		if err := json.Unmarshal(w.order(http.MethodGet, "/hold"), &all); err != nil {
			w.t.Fatal(err)
		}
		return all[method] > 0
	})
}

// settled waits until the directories in LocalDS_0 are those in the caches' status.
func (w *world) settled() {
	w.t.Helper()
	var have, want []string
	defer func() {
		if w.t.Failed() {
			w.t.Logf("directories (-want +got):\n%s", cmp.Diff(want, have))
		}
	}()
	simulated.Eventually(w.t, "there are the directories that caches name, and no others", func() bool {
		caches, err := w.VmV1alpha1().VirtualMachineImageCaches().List(w.t.Context(), metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		want = nil
		for i := range caches.Items {
			for _, l := range caches.Items[i].Status.Locations {
				want = append(want, l.Directory+"/")
			}
		}
		slices.Sort(want)
		have = datastorePaths(w.directories("LocalDS_0"))
		slices.Sort(have)
		return slices.Equal(want, have)
	})
}

// The files of a killed process are removed, and the copies are created, for every time of the kill.
func TestImageCache_RemovesFilesOfAKilledProcess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.order(http.MethodPut, "/datastores/disksize", "bytes", "10485760")
	w.createOf("warm", "ubuntu-24.04-appliance", on("LocalDS_0"))
	removes := func(w *world) { w.delete("photon") }
	for name, step := range map[string]struct {
		// hold is the call that is held when the process is killed. If it is empty, the process is killed during a
		// copy.
		hold string
		// act starts the operation of the step. If it is nil, the cache is created.
		act func(*world)
	}{
		"before directories are listed":          {hold: "SearchDatastore_Task"},
		"before the directory is made":           {hold: "MakeDirectory"},
		"the directory is created, not answered": {hold: "answer.MakeDirectory"},
		"before the copy":                        {hold: "CopyVirtualDisk_Task"},
		"the copy has begun, not answered":       {hold: "answer.CopyVirtualDisk_Task"},
		"in the middle of the copy":              {},
		"it is copied, and not listed":           {hold: "answer.SearchDatastore_Task"},
		"before the copies are removed":          {hold: "DeleteDatastoreFile_Task", act: removes},
		"the copies are removed, not answered":   {hold: "answer.DeleteDatastoreFile_Task", act: removes},
	} {
		t.Run(name, func(t *testing.T) {
			first := w.start("a")
			w.until("warm", "is ready", ready)
			w.settled()
			make := func() { w.create("photon", on("LocalDS_0")) }
			if step.act != nil {
				make()
				w.until("photon", "is ready", ready)
				make = func() { step.act(w) }
			}
			if step.hold == "" {
				w.order(http.MethodPut, "/datastores/rate", "bytes", "1048576")
				make()
				w.until("photon", "is being copied", func(*vmv1alpha1.VirtualMachineImageCache) bool {
					return len(w.below("LocalDS_0")) > len(w.directories("LocalDS_0"))+2
				})
			} else {
				w.order(http.MethodPut, "/hold", "method", step.hold)
				make()
				w.held(step.hold)
			}
			first.kill()
			if step.hold != "" {
				w.order(http.MethodDelete, "/hold", "method", step.hold)
			}
			w.order(http.MethodPut, "/datastores/rate", "bytes", "0")
			defer w.start("a").stop()
			if step.act == nil {
				w.until("photon", "is ready", ready)
				w.settled()
				w.delete("photon")
			}
			w.awaitDeleted("photon")
			w.settled()
		})
	}
}
