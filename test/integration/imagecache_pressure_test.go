// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
	"github.com/slipway-dev/slipway/test/vcenter/contentlibrary"
)

const imageNamespace = "team-a"

// library returns an administrator's client of the content library.
func (w *world) library() *rest.Client {
	w.t.Helper()
	c := rest.NewClient(simulated.Operator(w.t, w.ready).Client)
	if err := c.Login(w.t.Context(), url.UserPassword(vcenter.OperatorUsername, vcenter.DefaultPassword)); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// images adds items to the library, and an image for each.
func (w *world) images(n int) (names []string) {
	w.t.Helper()
	ctx, c := w.t.Context(), w.library()
	for i := range n {
		name := fmt.Sprintf("image-%d", i)
		if err := contentlibrary.Add(ctx, c, name); err != nil {
			w.t.Fatal(err)
		}
		image := &vmv1alpha1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: name}}
		image.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: contentlibrary.Library, Item: name}
		if _, err := w.VmV1alpha1().VirtualMachineImages(imageNamespace).Create(ctx, image, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// deploy creates a virtual machine from copies of an image.
func (w *world) deploy(name, image string, mode vmv1alpha1.FastDeployMode) {
	w.t.Helper()
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{vmv1alpha1.AnnotationFastDeploy: string(mode)}}}
	vm.Spec.CPU, vm.Spec.Memory = &vmv1alpha1.VirtualMachineCPU{Sockets: 1}, &vmv1alpha1.VirtualMachineMemory{}
	guest := resource.MustParse("128Mi")
	vm.Spec.Memory.Guest = &guest
	vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Name: image}
	vm.Spec.PowerState, vm.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
	vm.Spec.PromoteDisksMode = vmv1alpha1.PromoteDisksModeDisabled
	if _, err := w.VmV1alpha1().VirtualMachines(imageNamespace).Create(w.t.Context(), vm, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// created waits until vSphere has a virtual machine.
func (w *world) created(name string) {
	w.t.Helper()
	var vm *vmv1alpha1.VirtualMachine
	defer func() {
		if w.t.Failed() && vm != nil {
			text, _ := json.MarshalIndent(vm, "", " ")
			caches, _ := w.VmV1alpha1().VirtualMachineImageCaches().List(w.t.Context(), metav1.ListOptions{})
			more, _ := json.MarshalIndent(caches.Items, "", " ")
			w.t.Logf("%s\n%s\nevents %q", text, more, w.events.of())
		}
	}()
	simulated.Eventually(w.t, name+" is created", func() bool {
		var err error
		vm, err = w.VmV1alpha1().VirtualMachines(imageNamespace).Get(w.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		return slices.ContainsFunc(vm.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == vmv1alpha1.ConditionCreated && c.Status == metav1.ConditionTrue
		})
	})
}

// broken returns the virtual machines with a missing parent disk.
func (w *world) broken() (names []string) {
	w.t.Helper()
	if err := json.Unmarshal(w.order(http.MethodGet, "/datastores/broken"), &names); err != nil {
		w.t.Fatal(err)
	}
	return names
}

// destroy deletes a virtual machine and waits until it does not exist.
func (w *world) destroy(name string) {
	w.t.Helper()
	client := w.VmV1alpha1().VirtualMachines(imageNamespace)
	if err := client.Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	simulated.Eventually(w.t, name+" is deleted", func() bool {
		_, err := client.Get(w.t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// Thirty images share space for eight while virtual machines of them are created and deleted. Each VM is created, every
// parent disk in use is kept, and at the end all copies are deleted.
func TestImageCache_CreatesVMsWhileCopiesAreEvicted(t *testing.T) {
	t.Parallel()
	const count, atOnce, disk = 30, 3, 100 << 20
	w := newWorld(t)
	w.policy.MinIdle = 100 * time.Millisecond
	first := w.start("a")
	w.order(http.MethodPut, "/datastores/disksize", "bytes", fmt.Sprint(disk))
	images := w.images(count)
	w.order(http.MethodPut, "/datastores/free", "datastore", "LocalDS_0", "bytes", fmt.Sprint(8*disk))
	kept := "kept"
	w.deploy(kept, images[0], vmv1alpha1.FastDeployLinked)
	w.created(kept)
	var all sync.WaitGroup
	for worker := range atOnce {
		all.Go(func() {
			for i := worker; i < count; i += atOnce {
				name := fmt.Sprintf("vm-%d", i)
				// A full disk would not fit next to the copies. Copies are removed for other copies immediately, and for
				// disks when the datastore is checked.
				w.deploy(name, images[i], vmv1alpha1.FastDeployLinked)
				w.created(name)
				w.destroy(name)
			}
		})
	}
	all.Wait()
	if evicted := slices.DeleteFunc(w.events.of(), func(r string) bool { return r != "Evicted" }); len(evicted) < count-8-atOnce {
		t.Errorf("%d copies were evicted, want most of %d", len(evicted), count)
	}
	if broken := w.broken(); len(broken) != 0 {
		t.Errorf("virtual machines have lost disks that they depend on: %q", broken)
	}
	w.destroy(kept)
	first.stop()
	w.policy.MaxAge = time.Millisecond
	w.start("a")
	simulated.Eventually(t, "no cache is left", func() bool {
		caches, err := w.VmV1alpha1().VirtualMachineImageCaches().List(t.Context(), metav1.ListOptions{})
		return err == nil && len(caches.Items) == 0
	})
	simulated.Eventually(t, "no directory is left", func() bool { return len(w.below("LocalDS_0")) == 0 })
}
