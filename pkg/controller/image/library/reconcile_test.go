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

// fixture is an API, a vSphere and a controller. The tests call Reconcile.
type fixture struct {
	t       *testing.T
	api     *fake.Clientset
	c       *Controller
	vsphere *vsphere

	informers externalversions.SharedInformerFactory
}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, api: fake.NewSimpleClientset(objects...), vsphere: &vsphere{items: ovfs("photon", "ubuntu")}}
	f.informers = externalversions.NewSharedInformerFactory(f.api, 0)
	c, err := New(Deps{Client: f.api, Informers: f.informers, Images: f.vsphere})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Keys.ShutDown)
	c.reconcile.machinesSynced = func() bool { return true }
	f.c = c
	f.refresh()
	return f
}

// refresh fills the caches with the stored objects.
func (f *fixture) refresh() {
	f.t.Helper()
	ctx, vm := f.t.Context(), f.api.VmV1alpha1()
	libraries, err1 := vm.ContentLibraries().List(ctx, metav1.ListOptions{})
	images, err2 := vm.VirtualMachineImages("").List(ctx, metav1.ListOptions{})
	cluster, err3 := vm.ClusterVirtualMachineImages().List(ctx, metav1.ListOptions{})
	vms, err4 := vm.VirtualMachines("").List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		f.t.Fatal(err)
	}
	informers := f.informers.Vm().V1alpha1()
	fill(f, informers.ContentLibraries().Informer().GetIndexer(), libraries.Items)
	fill(f, informers.VirtualMachineImages().Informer().GetIndexer(), images.Items)
	fill(f, informers.ClusterVirtualMachineImages().Informer().GetIndexer(), cluster.Items)
	fill(f, informers.VirtualMachines().Informer().GetIndexer(), vms.Items)
	// The fake client sets no resource versions, which the store compares.
	f.c.reconcile.libraries = controller.NewStore[*vmv1alpha1.ContentLibrary](informers.ContentLibraries().Informer(), false)
}

func fill[T any](f *fixture, indexer cache.Indexer, items []T) {
	var all []any
	for i := range items {
		all = append(all, &items[i])
	}
	if err := indexer.Replace(all, ""); err != nil {
		f.t.Fatal(err)
	}
}

// reconcile reconciles the library until the result has no short requeue delay.
func (f *fixture) reconcile() error {
	f.t.Helper()
	for range 10 {
		result, err := f.c.reconcile.Reconcile(f.t.Context(), types.NamespacedName{Name: "golden"})
		f.refresh()
		if err != nil || result.RequeueAfter != controller.Soon {
			return err
		}
	}
	f.t.Fatal("every reconcile requests a short requeue")
	return nil
}

// images returns the names of all images. Names of cluster images start with a slash.
func (f *fixture) images() []string {
	var names []string
	informers := f.informers.Vm().V1alpha1()
	names = append(names, informers.VirtualMachineImages().Informer().GetIndexer().ListKeys()...)
	for _, name := range informers.ClusterVirtualMachineImages().Informer().GetIndexer().ListKeys() {
		names = append(names, "/"+name)
	}
	slices.Sort(names)
	return names
}

func (f *fixture) library() *vmv1alpha1.ContentLibrary {
	f.t.Helper()
	l, err := f.api.VmV1alpha1().ContentLibraries().Get(f.t.Context(), "golden", metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return l
}

func (f *fixture) expectImages(images ...string) {
	f.t.Helper()
	if diff := cmp.Diff(images, f.images()); diff != "" {
		f.t.Errorf("images (-want +got):\n%s", diff)
	}
}

func (f *fixture) expectReady(status metav1.ConditionStatus, reason string) {
	f.t.Helper()
	c := conditions.Find(f.library().Status.Conditions, vmv1alpha1.ConditionReady)
	if c == nil || c.Status != status || c.Reason != reason {
		f.t.Errorf("Ready is %+v, want %s %s", c, status, reason)
	}
}

// machineOf returns a VM that refers to an image.
func machineOf(namespace, kind, image string) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
	vm.Spec.Image = &vmv1alpha1.VirtualMachineImageRef{Kind: kind, Name: image}
	return vm
}

func TestReconcile_CreatesImagesInTheClusterOrANamespace(t *testing.T) {
	f := newFixture(t, golden(nil))
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.expectImages("/photon", "/ubuntu")
	f.expectReady(metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded)
	if st := f.library().Status; st.Items != 2 || st.Images != 2 || st.ObservedGeneration != 1 {
		t.Errorf("status has %d items and %d images of generation %d, want 2 and 2 of 1", st.Items, st.Images, st.ObservedGeneration)
	}
	f = newFixture(t, golden(func(s *vmv1alpha1.ContentLibrarySpec) { s.Namespace = "dev" }))
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.expectImages("dev/photon", "dev/ubuntu")
}

func TestReconcile_WritesNothingIfNothingChanged(t *testing.T) {
	f := newFixture(t, golden(nil))
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.api.ClearActions()
	if _, err := f.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Name: "golden"}); err != nil {
		t.Fatal(err)
	}
	if got := f.api.Actions(); len(got) != 0 {
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
			f := newFixture(t, golden(nil))
			if err := f.reconcile(); err != nil {
				t.Fatal(err)
			}
			f.vsphere.items, f.vsphere.err = nil, tc.err
			if err := f.reconcile(); (err != nil) != tc.fails {
				t.Errorf("Reconcile returned %v", err)
			}
			f.expectImages("/photon", "/ubuntu")
			f.expectReady(tc.status, tc.reason)
			if got := f.library().Status.Items; got != 2 {
				t.Errorf("status.items is %d, want the 2 that were read last", got)
			}
		})
	}
}

// If one of two vCenters cannot be read, images of the other's items are created, and no image is deleted.
func TestReconcile_CreatesImagesWhileAVCenterIsUnreachable(t *testing.T) {
	f := newFixture(t, &vmv1alpha1.ContentLibrary{ObjectMeta: metav1.ObjectMeta{Name: "golden"}, Spec: vmv1alpha1.ContentLibrarySpec{Library: "Golden"}})
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.expectImages("/photon", "/ubuntu")
	f.vsphere.items, f.vsphere.err = ovfs("photon", "new"), &provider.PartialResultError{VCenters: []string{"b"}, HasResults: true, Err: errors.New("b is unreachable")}
	result, err := f.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Name: "golden"})
	if err != nil || result.RequeueAfter != controller.Poll {
		t.Errorf("%+v, %v; want it to be listed again like every library", result, err)
	}
	f.refresh()
	f.expectImages("/new", "/photon", "/ubuntu")
	f.expectReady(metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded)
	st := f.library().Status
	const message = "the items of VCenter b could not be read (see its status); their images are not changed"
	if c := conditions.Find(st.Conditions, vmv1alpha1.ConditionReady); st.Items != 2 || st.Images != 3 || c.Message != message {
		t.Errorf("%d items, %d images, message %q; want 2, 3 and %q", st.Items, st.Images, c.Message, message)
	}
	f.vsphere.err = nil // VCenter b was deleted
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.expectImages("/new", "/photon")
	if c := conditions.Find(f.library().Status.Conditions, vmv1alpha1.ConditionReady); c.Message != "" {
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
			f := newFixture(t, golden(nil))
			f.c.vcenterChanged(tc.was, tc.now)
			if got := f.c.Keys.Len() == 1; got != tc.want {
				t.Errorf("the library is queued: %t, want %t", got, tc.want)
			}
		})
	}
}

// The controller receives no event when a namespace is created.
func TestReconcile_IsRepeatedWhileTheNamespaceDoesNotExist(t *testing.T) {
	f := newFixture(t, golden(func(s *vmv1alpha1.ContentLibrarySpec) { s.Namespace = "dev" }))
	missing := true
	f.api.PrependReactor("create", "virtualmachineimages", func(clienttesting.Action) (bool, runtime.Object, error) {
		return missing, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "dev")
	})
	f.vsphere.items, f.vsphere.err = ovfs("photon"), &provider.PartialResultError{VCenters: []string{"b"}, HasResults: true, Err: errors.New("b is unreachable")}
	if result, err := f.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Name: "golden"}); err != nil || result.RequeueAfter != controller.Recheck {
		t.Errorf("%+v, %v; want a requeue", result, err)
	}
	f.refresh()
	f.expectReady(metav1.ConditionFalse, vmv1alpha1.ReasonNotFound)
	missing = false
	_ = f.reconcile()
	f.expectImages("dev/photon")
}

func TestReconcile_SetsNoConditionWhileNoVCenterIsInUse(t *testing.T) {
	f := newFixture(t, golden(nil))
	f.vsphere.err = provider.ErrNotInUse
	if result, err := f.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Name: "golden"}); err != nil || result.RequeueAfter != controller.Soon {
		t.Fatalf("%+v, %v", result, err)
	}
	if got := f.library().Status.Conditions; len(got) != 0 {
		t.Errorf("status has %v", got)
	}
}

func TestReconcile_DeletesImagesOfDeletedItemsUnlessUsed(t *testing.T) {
	f := newFixture(t, golden(nil), machineOf("dev", vmv1alpha1.ClusterImageKind, "photon"))
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.vsphere.items = nil
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.expectImages("/photon")
	if diff := cmp.Diff([]string{"photon"}, f.library().Status.Kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if err := f.api.VmV1alpha1().VirtualMachines("dev").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.refresh()
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.expectImages()
}

// A VM uses an image as long as its CD-ROM drive has the image.
func TestReconcile_KeepsAnImageInACDROMDrive(t *testing.T) {
	vm := machineOf("dev", vmv1alpha1.ClusterImageKind, "other")
	vm.Spec.Volumes = []vmv1alpha1.VirtualMachineVolume{
		{Name: "data", Disk: &vmv1alpha1.DiskVolumeSource{}},
		{Name: "empty", CDROM: &vmv1alpha1.CDROMVolumeSource{}},
		{Name: "tools", CDROM: &vmv1alpha1.CDROMVolumeSource{Image: &vmv1alpha1.VirtualMachineImageRef{Kind: vmv1alpha1.ClusterImageKind, Name: "photon"}}},
	}
	f := newFixture(t, golden(nil), vm)
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.vsphere.items = nil
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.expectImages("/photon")
}

func TestReconcile_DistinguishesImagesOfNamespacesFromClusterImages(t *testing.T) {
	f := newFixture(t, golden(nil), machineOf("dev", vmv1alpha1.ImageKind, "photon"))
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.vsphere.items = nil
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.expectImages()
}

func TestReconcile_KeepsUsedImagesOfADeletedLibrary(t *testing.T) {
	l := golden(nil)
	f := newFixture(t, l, machineOf("dev", vmv1alpha1.ClusterImageKind, "photon"))
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	deleting := f.library()
	deleting.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	if _, err := f.api.VmV1alpha1().ContentLibraries().Update(t.Context(), deleting, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.refresh()
	f.vsphere.err = errors.New("not asked")
	if err := f.reconcile(); err != nil {
		t.Fatal(err)
	}
	f.expectImages("/photon")
	image, err := f.api.VmV1alpha1().ClusterVirtualMachineImages().Get(t.Context(), "photon", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, has := image.Labels[vmv1alpha1.LabelContentLibrary]; has {
		t.Error("the used image still has the label of a ContentLibrary")
	}
	if got := f.library().Finalizers; len(got) != 0 {
		t.Errorf("the ContentLibrary has finalizers %v", got)
	}
}

func TestPublishRequestHandler_EnqueuesTheLibraryOfAPublishedItem(t *testing.T) {
	f := newFixture(t)
	handler := f.c.publishRequestHandler()
	before, after := &vmv1alpha1.VirtualMachinePublishRequest{}, &vmv1alpha1.VirtualMachinePublishRequest{}
	after.Spec.Target.ContentLibrary = "golden"
	handler.OnUpdate(before, after)
	if n := f.c.Keys.Len(); n != 0 {
		t.Errorf("%d libraries are queued, and nothing was published", n)
	}
	after.Status.ItemID = "item"
	handler.OnUpdate(before, after)
	if f.c.Keys.Len() != 1 {
		t.Fatal("the library is not queued")
	}
	if key, _ := f.c.Keys.Get(); key.Name != "golden" {
		t.Errorf("library %s is queued, want golden", key.Name)
	}
}
