// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// vsphere returns the items and the error that a test sets.
type vsphere struct {
	provider.Images
	items []provider.LibraryItem
	err   error
}

func (v *vsphere) Items(context.Context, string) ([]provider.LibraryItem, error) {
	return v.items, v.err
}

// world is an API, a vSphere and a controller. The tests call Reconcile.
type world struct {
	t       *testing.T
	api     *fake.Clientset
	c       *Controller
	vsphere *vsphere

	informers externalversions.SharedInformerFactory
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, api: fake.NewSimpleClientset(objects...), vsphere: &vsphere{items: ovfs("photon", "ubuntu")}}
	w.informers = externalversions.NewSharedInformerFactory(w.api, 0)
	c, err := New(Deps{Client: w.api, Informers: w.informers, Images: w.vsphere})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Keys.ShutDown)
	c.reconcile.machinesSynced = func() bool { return true }
	w.c = c
	w.refresh()
	return w
}

// refresh fills the caches with the stored objects.
func (w *world) refresh() {
	w.t.Helper()
	ctx, vm := w.t.Context(), w.api.VmV1alpha1()
	libraries, err1 := vm.ContentLibraries().List(ctx, metav1.ListOptions{})
	images, err2 := vm.VirtualMachineImages("").List(ctx, metav1.ListOptions{})
	cluster, err3 := vm.ClusterVirtualMachineImages().List(ctx, metav1.ListOptions{})
	vms, err4 := vm.VirtualMachines("").List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		w.t.Fatal(err)
	}
	informers := w.informers.Vm().V1alpha1()
	fill(w, informers.ContentLibraries().Informer().GetIndexer(), libraries.Items)
	fill(w, informers.VirtualMachineImages().Informer().GetIndexer(), images.Items)
	fill(w, informers.ClusterVirtualMachineImages().Informer().GetIndexer(), cluster.Items)
	fill(w, informers.VirtualMachines().Informer().GetIndexer(), vms.Items)
	// The fake client sets no resource versions, which the store compares.
	w.c.reconcile.libraries = controller.NewStore[*vmv1alpha1.ContentLibrary](informers.ContentLibraries().Informer(), false)
}

func fill[T any](w *world, indexer cache.Indexer, items []T) {
	var all []any
	for i := range items {
		all = append(all, &items[i])
	}
	if err := indexer.Replace(all, ""); err != nil {
		w.t.Fatal(err)
	}
}

// reconcile reconciles the library until the result has no short requeue delay.
func (w *world) reconcile() error {
	w.t.Helper()
	for range 10 {
		result, err := w.c.reconcile.Reconcile(w.t.Context(), types.NamespacedName{Name: "golden"})
		w.refresh()
		if err != nil || result.RequeueAfter != controller.Soon {
			return err
		}
	}
	w.t.Fatal("every reconcile requests a short requeue")
	return nil
}

// images returns the names of all images. Names of cluster images start with a slash.
func (w *world) images() []string {
	var names []string
	informers := w.informers.Vm().V1alpha1()
	names = append(names, informers.VirtualMachineImages().Informer().GetIndexer().ListKeys()...)
	for _, name := range informers.ClusterVirtualMachineImages().Informer().GetIndexer().ListKeys() {
		names = append(names, "/"+name)
	}
	slices.Sort(names)
	return names
}

func (w *world) library() *vmv1alpha1.ContentLibrary {
	w.t.Helper()
	l, err := w.api.VmV1alpha1().ContentLibraries().Get(w.t.Context(), "golden", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return l
}

func (w *world) wants(images ...string) {
	w.t.Helper()
	if diff := cmp.Diff(images, w.images()); diff != "" {
		w.t.Errorf("images (-want +got):\n%s", diff)
	}
}

func (w *world) wantsReady(status metav1.ConditionStatus, reason string) {
	w.t.Helper()
	c := conditions.Find(w.library().Status.Conditions, vmv1alpha1.ConditionReady)
	if c == nil || c.Status != status || c.Reason != reason {
		w.t.Errorf("Ready is %+v, want %s %s", c, status, reason)
	}
}

// machineOf returns a VM that refers to an image.
func machineOf(namespace, kind, image string) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Kind: kind, Name: image}
	return vm
}

func TestReconcile_CreatesImagesInTheClusterOrANamespace(t *testing.T) {
	w := newWorld(t, golden(nil))
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.wants("/photon", "/ubuntu")
	w.wantsReady(metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded)
	if st := w.library().Status; st.Items != 2 || st.Images != 2 || st.ObservedGeneration != 1 {
		t.Errorf("status has %d items and %d images of generation %d, want 2 and 2 of 1", st.Items, st.Images, st.ObservedGeneration)
	}
	w = newWorld(t, golden(func(s *vmv1alpha1.ContentLibrarySpec) { s.Namespace = "dev" }))
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.wants("dev/photon", "dev/ubuntu")
}

func TestReconcile_WritesNothingIfNothingChanged(t *testing.T) {
	w := newWorld(t, golden(nil))
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.api.ClearActions()
	if _, err := w.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Name: "golden"}); err != nil {
		t.Fatal(err)
	}
	if got := w.api.Actions(); len(got) != 0 {
		t.Errorf("it wrote %v", got)
	}
}

func TestReconcile_KeepsImagesOfUnreadLibraries(t *testing.T) {
	for name, tc := range map[string]struct {
		err    error
		status metav1.ConditionStatus
		reason string
		fails  bool
	}{
		"a library that is not found": {&provider.NotUsableError{Message: "no library", Missing: true}, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound, false},
		"two libraries of the name":   {&provider.NotUsableError{Message: "2 libraries"}, metav1.ConditionFalse, vmv1alpha1.ReasonInvalid, false},
		"an unreachable vCenter":      {errors.New("connection refused"), metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, golden(nil))
			if err := w.reconcile(); err != nil {
				t.Fatal(err)
			}
			w.vsphere.items, w.vsphere.err = nil, tc.err
			if err := w.reconcile(); (err != nil) != tc.fails {
				t.Errorf("Reconcile returned %v", err)
			}
			w.wants("/photon", "/ubuntu")
			w.wantsReady(tc.status, tc.reason)
			if got := w.library().Status.Items; got != 2 {
				t.Errorf("status.items is %d, want the 2 that were read last", got)
			}
		})
	}
}

// If one of two vCenters cannot be read, images of the other's items are created, and no image is deleted.
func TestReconcile_CreatesImagesWhileAVCenterIsUnreachable(t *testing.T) {
	w := newWorld(t, &vmv1alpha1.ContentLibrary{ObjectMeta: metav1.ObjectMeta{Name: "golden"}, Spec: vmv1alpha1.ContentLibrarySpec{Library: "Golden"}})
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.wants("/photon", "/ubuntu")
	w.vsphere.items, w.vsphere.err = ovfs("photon", "new"), &provider.PartialResultError{VCenters: []string{"b"}, HasResults: true, Err: errors.New("b is unreachable")}
	result, err := w.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Name: "golden"})
	if err != nil || result.RequeueAfter != controller.Poll {
		t.Errorf("%+v, %v; want it to be listed again like every library", result, err)
	}
	w.refresh()
	w.wants("/new", "/photon", "/ubuntu")
	w.wantsReady(metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded)
	st := w.library().Status
	const message = "the items of VCenter b could not be read (see its status); their images are not changed"
	if c := conditions.Find(st.Conditions, vmv1alpha1.ConditionReady); st.Items != 2 || st.Images != 3 || c.Message != message {
		t.Errorf("%d items, %d images, message %q; want 2, 3 and %q", st.Items, st.Images, c.Message, message)
	}
	w.vsphere.err = nil // VCenter b was deleted
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.wants("/new", "/photon")
	if c := conditions.Find(w.library().Status.Conditions, vmv1alpha1.ConditionReady); c.Message != "" {
		t.Errorf("message %q, want none", c.Message)
	}
}

// A message about an unreadable vCenter is removed as soon as the vCenter can be read or is deleted.
func TestLibraries_AreListedAgainWhenAVCenterChanges(t *testing.T) {
	vc := func(generation int64, ready metav1.ConditionStatus) *vmv1alpha1.VCenter {
		vc := &vmv1alpha1.VCenter{ObjectMeta: metav1.ObjectMeta{Name: "b", Generation: generation}}
		vc.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: ready}}
		return vc
	}
	for name, tc := range map[string]struct {
		was, now *vmv1alpha1.VCenter
		want     bool
	}{
		"added":               {nil, vc(1, metav1.ConditionFalse), true},
		"deleted":             {vc(1, metav1.ConditionFalse), nil, true},
		"reachable again":     {vc(1, metav1.ConditionFalse), vc(1, metav1.ConditionTrue), true},
		"another address":     {vc(1, metav1.ConditionTrue), vc(2, metav1.ConditionTrue), true},
		"observed as before":  {vc(1, metav1.ConditionTrue), vc(1, metav1.ConditionTrue), false},
		"still not reachable": {vc(1, metav1.ConditionFalse), vc(1, metav1.ConditionFalse), false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, golden(nil))
			w.c.vcenterChanged(tc.was, tc.now)
			if got := w.c.Keys.Len() == 1; got != tc.want {
				t.Errorf("the library is queued: %t, want %t", got, tc.want)
			}
		})
	}
}

// The controller receives no event when a namespace is created.
func TestReconcile_IsRepeatedWhileTheNamespaceDoesNotExist(t *testing.T) {
	w := newWorld(t, golden(func(s *vmv1alpha1.ContentLibrarySpec) { s.Namespace = "dev" }))
	missing := true
	w.api.PrependReactor("create", "virtualmachineimages", func(clienttesting.Action) (bool, runtime.Object, error) {
		return missing, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "dev")
	})
	w.vsphere.items, w.vsphere.err = ovfs("photon"), &provider.PartialResultError{VCenters: []string{"b"}, HasResults: true, Err: errors.New("b is unreachable")}
	if result, err := w.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Name: "golden"}); err != nil || result.RequeueAfter != controller.Recheck {
		t.Errorf("%+v, %v; want a requeue", result, err)
	}
	w.refresh()
	w.wantsReady(metav1.ConditionFalse, vmv1alpha1.ReasonNotFound)
	missing = false
	_ = w.reconcile()
	w.wants("dev/photon")
}

func TestReconcile_SetsNoConditionWhileNoVCenterIsInUse(t *testing.T) {
	w := newWorld(t, golden(nil))
	w.vsphere.err = provider.ErrNotInUse
	if result, err := w.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Name: "golden"}); err != nil || result.RequeueAfter != controller.Soon {
		t.Fatalf("%+v, %v", result, err)
	}
	if got := w.library().Status.Conditions; len(got) != 0 {
		t.Errorf("status has %v", got)
	}
}

func TestReconcile_DeletesImagesOfDeletedItemsUnlessUsed(t *testing.T) {
	w := newWorld(t, golden(nil), machineOf("dev", vmv1alpha1.ClusterImageKind, "photon"))
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.vsphere.items = nil
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.wants("/photon")
	if diff := cmp.Diff([]string{"photon"}, w.library().Status.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if err := w.api.VmV1alpha1().VirtualMachines("dev").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.refresh()
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.wants()
}

// A VM uses an image as long as its CD-ROM drive has the image.
func TestReconcile_KeepsAnImageInACDROMDrive(t *testing.T) {
	vm := machineOf("dev", vmv1alpha1.ClusterImageKind, "other")
	vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{
		{Name: "data", Disk: &vmv1alpha1.DiskVolumeSource{}},
		{Name: "empty", CDROM: &vmv1alpha1.CDROMVolumeSource{}},
		{Name: "tools", CDROM: &vmv1alpha1.CDROMVolumeSource{Image: &vmv1alpha1.VirtualMachineImageRef{Kind: vmv1alpha1.ClusterImageKind, Name: "photon"}}},
	}
	w := newWorld(t, golden(nil), vm)
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.vsphere.items = nil
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.wants("/photon")
}

func TestReconcile_DistinguishesImagesOfNamespacesFromClusterImages(t *testing.T) {
	w := newWorld(t, golden(nil), machineOf("dev", vmv1alpha1.ImageKind, "photon"))
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.vsphere.items = nil
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.wants()
}

func TestReconcile_KeepsUsedImagesOfADeletedLibrary(t *testing.T) {
	l := golden(nil)
	w := newWorld(t, l, machineOf("dev", vmv1alpha1.ClusterImageKind, "photon"))
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	going := w.library()
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	if _, err := w.api.VmV1alpha1().ContentLibraries().Update(t.Context(), going, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.refresh()
	w.vsphere.err = errors.New("not called")
	if err := w.reconcile(); err != nil {
		t.Fatal(err)
	}
	w.wants("/photon")
	image, err := w.api.VmV1alpha1().ClusterVirtualMachineImages().Get(t.Context(), "photon", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, has := image.Labels[vmv1alpha1.LabelContentLibrary]; has {
		t.Error("the used image still has the label of a ContentLibrary")
	}
	if got := w.library().Finalizers; len(got) != 0 {
		t.Errorf("the ContentLibrary has finalizers %v", got)
	}
}

func TestPublishRequest_EnqueuesItsLibraryWhenAnItemWasPublished(t *testing.T) {
	w := newWorld(t)
	handler := w.c.publishRequestHandler()
	before, after := &vmv1alpha1.VirtualMachinePublishRequest{}, &vmv1alpha1.VirtualMachinePublishRequest{}
	after.Spec.Target.ContentLibrary = "golden"
	handler.OnUpdate(before, after)
	if n := w.c.Keys.Len(); n != 0 {
		t.Errorf("%d libraries are queued, and nothing was published", n)
	}
	after.Status.ItemID = "item"
	handler.OnUpdate(before, after)
	if w.c.Keys.Len() != 1 {
		t.Fatal("the library is not queued")
	}
	if key, _ := w.c.Keys.Get(); key.Name != "golden" {
		t.Errorf("library %s is queued, want golden", key.Name)
	}
}
