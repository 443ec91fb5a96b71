// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/simulated"
)

// why returns the reason of the condition Ready of the only location, or an empty string.
func why(c *vmv1alpha1.VirtualMachineImageCache) string {
	if len(c.Status.Locations) == 1 {
		if ready := conditions.Find(c.Status.Locations[0].Conditions, vmv1alpha1.ConditionReady); ready != nil {
			return ready.Reason
		}
	}
	return ""
}

// A copy that disks depend on stays until they are deleted, independent of their owner. It also stays while the dependent
// disks are unknown.
func TestImageCache_KeepsCopiesWhileADiskDependsOnThem(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		// hide makes vSphere return incomplete data for the virtual machine.
		hide   func(w *world)
		show   func(w *world)
		reason string
	}{
		"of a virtual machine": {reason: vmv1alpha1.ReasonInUse},
		"of one that cannot be read": {
			hide: func(w *world) {
				w.order(http.MethodPost, "/vm/hide", "vm", "web", "state", "inaccessible")
			},
			show:   func(w *world) { w.order(http.MethodPost, "/vm/show", "vm", "web") },
			reason: vmv1alpha1.ReasonNotRemoved,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.start("a")
			image := w.images(1)[0]
			w.deploy("web", image, vmv1alpha1.FastDeployLinked)
			w.created("web")
			caches := w.VmV1alpha1().VirtualMachineImageCaches()
			all, err := caches.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(all.Items) != 1 {
				t.Fatalf("caches %+v, %v, want one", all, err)
			}
			cache := all.Items[0].Name
			if test.hide != nil {
				test.hide(w)
			}
			w.delete(cache)
			c := w.until(cache, "reports why it stays", func(c *vmv1alpha1.VirtualMachineImageCache) bool { return why(c) == test.reason })
			if message := conditions.Find(c.Status.Locations[0].Conditions, vmv1alpha1.ConditionReady).Message; !strings.Contains(message, "web") {
				t.Errorf("message %q does not name the virtual machine", message)
			}
			if broken := w.broken(); len(broken) != 0 || len(w.directories("LocalDS_0")) != 1 {
				t.Errorf("directories %q, broken virtual machines %q", w.directories("LocalDS_0"), broken)
			}
			if test.show != nil {
				test.show(w)
			}
			w.destroy("web")
			w.awaitDeleted(cache)
			simulated.Eventually(t, "no directory is left", func() bool { return len(w.below("LocalDS_0")) == 0 })
		})
	}
}

// Two servers on one vCenter do not remove each other's copies, although neither knows the caches of the other.
func TestImageCache_KeepsCopiesOfAnotherServer(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newWorld(t)
	other.ready = w.ready
	other.start("b")
	other.create("photon", on("LocalDS_0"))
	theirs := other.until("photon", "is ready", ready).Status.Locations[0].Directory
	first := w.start("a")
	w.order(http.MethodPut, "/datastores/fault", "call", "CopyVirtualDisk_Task", "fault", "CannotAccessFile", "times", "1")
	w.create("photon", on("LocalDS_0"))
	w.until("photon", "is ready", ready)
	first.kill()
	w.start("a") // it searches for directories that no object refers to
	w.delete("photon")
	w.awaitDeleted("photon")
	simulated.Eventually(t, "the directory of the other server is left, and no more", func() bool {
		left := datastorePaths(w.directories("LocalDS_0"))
		return len(left) == 1 && left[0] == theirs+"/"
	})
}
