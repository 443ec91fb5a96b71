// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// vsphere has one library, golden, and one template.
type vsphere struct {
	items []provider.LibraryItem
	// failures has errors by call: list, template, or the ID of an item.
	failures map[string]error
	// incomplete is reported for every item.
	incomplete string
	// notApplied and defaulted are reported for every item.
	notApplied, defaulted string
	calls                 []string
}

func (v *vsphere) Items(_ context.Context, library string) ([]provider.LibraryItem, error) {
	v.calls = append(v.calls, "list "+library)
	if err := v.failures["list"]; err != nil {
		return nil, err
	}
	if library != "golden" {
		return nil, &provider.NotUsableError{Message: fmt.Sprintf("vSphere has no content library %q", library), Missing: true}
	}
	return v.items, nil
}

func (v *vsphere) DescribeItem(_ context.Context, item provider.LibraryItem) (*provider.ImageDescription, error) {
	v.calls = append(v.calls, "describe "+item.ID+"@"+item.ContentVersion)
	if err := v.failures[item.ID]; err != nil {
		return nil, err
	}
	return &provider.ImageDescription{Incomplete: v.incomplete, NotApplied: v.notApplied, Defaulted: v.defaulted, Status: vmv1alpha1.VirtualMachineImageStatus{
		Type: vmv1alpha1.ImageTypeOVF, GuestID: "guest-of-" + item.ID, ProviderItemID: item.ID, ContentVersion: item.ContentVersion, ContentSize: item.Size,
	}}, nil
}

func (v *vsphere) DescribeTemplate(_ context.Context, path string) (*provider.ImageDescription, error) {
	v.calls = append(v.calls, "template "+path)
	if err := v.failures["template"]; err != nil {
		return nil, err
	}
	return &provider.ImageDescription{Status: vmv1alpha1.VirtualMachineImageStatus{Type: vmv1alpha1.ImageTypeTemplate, GuestID: "ubuntu64Guest"}}, nil
}

func (v *vsphere) called() []string {
	calls := v.calls
	v.calls = nil
	return calls
}

// fixture is an API, a vSphere and a controller. The tests call Reconcile.
type fixture struct {
	t       *testing.T
	api     *fake.Clientset
	c       *Controller
	r       *reconciler
	vsphere *vsphere
	now     time.Time
}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, api: fake.NewSimpleClientset(objects...), now: time.Unix(1_700_000_000, 0), vsphere: &vsphere{
		items:    []provider.LibraryItem{{ID: "id-1", Library: "golden", Name: "photon", Type: "ovf", ContentVersion: "1"}},
		failures: map[string]error{},
	}}
	c, err := New(Deps{Client: f.api, Informers: externalversions.NewSharedInformerFactory(f.api, 0), Images: f.vsphere, Now: func() time.Time { return f.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Keys.ShutDown)
	f.c = c
	f.r = &reconciler{client: f.api.VmV1alpha1(), vsphere: f.vsphere, shard: controller.Undivided{}, now: func() time.Time { return f.now }}
	for _, informer := range c.images {
		f.r.images = append(f.r.images, informer.GetIndexer())
	}
	f.refresh()
	return f
}

// refresh fills the caches with the stored objects.
func (f *fixture) refresh() {
	f.t.Helper()
	images, err := f.api.VmV1alpha1().VirtualMachineImages("").List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	clusterImages, err := f.api.VmV1alpha1().ClusterVirtualMachineImages().List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	var namespaced, cluster []any
	for i := range images.Items {
		namespaced = append(namespaced, &images.Items[i])
	}
	for i := range clusterImages.Items {
		cluster = append(cluster, &clusterImages.Items[i])
	}
	for i, all := range [][]any{namespaced, cluster} {
		if err := f.r.images[i].Replace(all, ""); err != nil {
			f.t.Fatal(err)
		}
	}
}

// reconcileOnce reconciles once and refreshes the caches.
func (f *fixture) reconcileOnce(p source) (controller.Result, error) {
	f.t.Helper()
	result, err := f.r.Reconcile(f.t.Context(), p)
	f.refresh()
	return result, err
}

func (f *fixture) status(namespace, name string) *vmv1alpha1.VirtualMachineImageStatus {
	f.t.Helper()
	if namespace == "" {
		i, err := f.api.VmV1alpha1().ClusterVirtualMachineImages().Get(f.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			f.t.Fatal(err)
		}
		return &i.Status
	}
	i, err := f.api.VmV1alpha1().VirtualMachineImages(namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return &i.Status
}

// expectConditions compares status and reason of all conditions.
func expectConditions(t *testing.T, s *vmv1alpha1.VirtualMachineImageStatus, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, c := range s.Conditions {
		got[c.Type] = string(c.Status) + " " + c.Reason
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}

var (
	golden   = source{library: "golden"}
	template = source{template: "templates/ubuntu"}
	good     = map[string]string{"Ready": "True Succeeded", "OVFReady": "True Succeeded", "SettingsApplied": "True Succeeded"}
)

func ofItem(item string) vmv1alpha1.VirtualMachineImageSpec {
	return vmv1alpha1.VirtualMachineImageSpec{ContentLibrary: &vmv1alpha1.ContentLibraryImageSource{Library: "golden", Item: item}}
}

func image(namespace, name string, spec vmv1alpha1.VirtualMachineImageSpec) *vmv1alpha1.VirtualMachineImage {
	return &vmv1alpha1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1}, Spec: spec}
}

func clusterImage(name string, spec vmv1alpha1.VirtualMachineImageSpec) *vmv1alpha1.ClusterVirtualMachineImage {
	return &vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}, Spec: spec}
}

func (f *fixture) add(i *vmv1alpha1.VirtualMachineImage) {
	f.t.Helper()
	if _, err := f.api.VmV1alpha1().VirtualMachineImages(i.Namespace).Create(f.t.Context(), i, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
	f.refresh()
}
