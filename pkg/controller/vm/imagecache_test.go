// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/imagecache"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const place = "default,datastore-1,gold"

var photonItem = vmv1alpha1.ContentLibraryImageSource{Library: "golden", Item: "photon-5"}

// libraryPhoton returns the image of a content library item.
func libraryPhoton() *vmv1alpha1.VirtualMachineImage {
	image := photon()
	image.Spec.ContentLibrary = photonItem.DeepCopy()
	return image
}

// photonCache returns an image cache with copies in one location.
func photonCache(change ...func(*vmv1alpha1.VirtualMachineImageCache)) *vmv1alpha1.VirtualMachineImageCache {
	ready := func(kind string) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: metav1.ConditionTrue, Reason: "Succeeded", LastTransitionTime: metav1.Unix(1, 0)}}
	}
	c := &vmv1alpha1.VirtualMachineImageCache{ObjectMeta: metav1.ObjectMeta{Name: "photon"}}
	c.Spec.ContentLibrary = photonItem
	c.Spec.Locations = []vmv1alpha1.VirtualMachineImageCacheLocation{{Datastore: "/DC0/datastore/ssd", StoragePolicy: "Gold"}}
	c.Status.Conditions = ready(vmv1alpha1.ConditionOVFReady)
	c.Status.Locations = []vmv1alpha1.VirtualMachineImageCacheLocationStatus{{
		VCenter: "default", Datastore: "/DC0/datastore/ssd", StoragePolicy: "Gold", DatastoreID: "datastore-1", ProfileID: "gold", Conditions: ready(vmv1alpha1.ConditionReady)}}
	for _, f := range change {
		f(c)
	}
	return c
}

// waiting makes a VM wait for the image cache photon in a location.
func waiting(at ...string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) {
		vm.Labels = map[string]string{vmv1alpha1.LabelImageCache: "photon"}
		if len(at) > 0 {
			vm.Annotations = map[string]string{vmv1alpha1.AnnotationImageCacheLocation: at[0]}
		}
	}
}

// fastHarness returns a harness with a fast-deploy mode.
func fastHarness(t *testing.T, vm *vmv1alpha1.VirtualMachine, cache *vmv1alpha1.VirtualMachineImageCache) *harness {
	t.Helper()
	h := newHarness(t, vm, libraryPhoton())
	if cache != nil {
		h = newHarness(t, vm, libraryPhoton(), cache)
	}
	h.imageCache.Default = vmv1alpha1.FastDeployDirect
	return h
}

// chart returns the outcome of a reconcile: whether the provider was called, and what the VM waits for.
func (h *harness) chart() string {
	h.t.Helper()
	h.mustReconcile()
	vm, out := h.vm(), "waits"
	if len(h.provider.requests) > 0 {
		out = "provider called"
	}
	if name, ok := vm.Labels[vmv1alpha1.LabelImageCache]; ok {
		out += ", label " + name
	}
	if at, ok := vm.Annotations[vmv1alpha1.AnnotationImageCacheLocation]; ok {
		out += ", location " + at
	}
	return out
}

func checkChart(t *testing.T, h *harness, want string) {
	t.Helper()
	if got := h.chart(); got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// The arrows of the chart "VMI Cache Integration (Fast Deploy)", in their order.

func TestImageCacheGate_WithoutTheLabelIsReady(t *testing.T) {
	checkChart(t, fastHarness(t, fresh(), nil), "provider called")
}

func TestImageCacheGate_WithTheLabelReadsTheCache(t *testing.T) {
	h := fastHarness(t, fresh(waiting(place)), photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Conditions = nil }))
	checkChart(t, h, "waits, label photon, location "+place)
	if c := findCondition(h.vm(), vmv1alpha1.ConditionImageCacheReady); c == nil || c.Message != `image cache "photon" is not ready` {
		t.Errorf("condition %+v, want one with the cache's name", c)
	}
}

// VM Operator waits there for an event that is never sent.
func TestImageCacheGate_WithoutACacheIsNotReadyAndRequestsIt(t *testing.T) {
	h := fastHarness(t, fresh(waiting(place)), nil)
	checkChart(t, h, "waits")
	h.mustReconcile()
	if len(h.provider.requests) != 1 {
		t.Errorf("the provider was called %d times by the next reconcile, want once", len(h.provider.requests))
	}
}

func TestImageCacheGate_WithACacheChecksTheOVF(t *testing.T) {
	checkChart(t, fastHarness(t, fresh(waiting(place)), photonCache()), "provider called")
}

func TestImageCacheGate_OVFNotReadyIsNotReady(t *testing.T) {
	h := fastHarness(t, fresh(waiting()), photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) {
		c.Status.Conditions[0].Status, c.Status.Conditions[0].Message = metav1.ConditionFalse, "the item has no descriptor"
	}))
	checkChart(t, h, "waits, label photon")
	if got := findCondition(h.vm(), vmv1alpha1.ConditionImageCacheReady).Message; got != `image cache "photon" is not ready: the item has no descriptor` {
		t.Errorf("message %q", got)
	}
}

func TestImageCacheGate_OVFReadyChecksTheLocation(t *testing.T) {
	h := fastHarness(t, fresh(waiting(place)), photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Locations = nil }))
	checkChart(t, h, "waits, label photon, location "+place)
}

func TestImageCacheGate_WithoutALocationRemovesTheLabel(t *testing.T) {
	checkChart(t, fastHarness(t, fresh(waiting()), photonCache()), "provider called")
}

// VM Operator removes both if the annotation has only two parts, and waits for its own event.
func TestImageCacheGate_WithAnIncompleteLocationRemovesLabelAndAnnotation(t *testing.T) {
	for _, text := range []string{"", "datastore-1,gold", "default,,gold", "a,b,c,d"} {
		checkChart(t, fastHarness(t, fresh(waiting(text)), photonCache()), "provider called")
	}
}

func TestImageCacheGate_WithALocationChecksItsStatus(t *testing.T) {
	for _, other := range []string{"default,datastore-2,gold", "default,datastore-1,", "other,datastore-1,gold"} {
		checkChart(t, fastHarness(t, fresh(waiting(other)), photonCache()), "waits, label photon, location "+other)
	}
}

func TestImageCacheGate_LocationNotReadyIsNotReady(t *testing.T) {
	h := fastHarness(t, fresh(waiting(place)), photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) {
		c.Status.Locations[0].Conditions[0].Status, c.Status.Locations[0].Conditions[0].Message = metav1.ConditionFalse, "the datastore is full"
	}))
	checkChart(t, h, "waits, label photon, location "+place)
	if got := findCondition(h.vm(), vmv1alpha1.ConditionImageCacheReady).Message; got != `image cache "photon" is not ready: the datastore is full` {
		t.Errorf("message %q", got)
	}
}

func TestImageCacheGate_LocationReadyRemovesLabelAndAnnotation(t *testing.T) {
	h := fastHarness(t, fresh(waiting(place)), photonCache())
	checkChart(t, h, "provider called")
	if got := h.provider.requests[0]; got.FastDeploy != vmv1alpha1.FastDeployDirect || got.ImageCache == nil || got.ImageCache.Name != "photon" {
		t.Errorf("the provider got mode %q and cache %v, want direct and photon", got.FastDeploy, got.ImageCache)
	}
}

// The arrows of the chart ReconcileNormal about fast deploy.

func TestFastDeploy_DisabledCallsTheProvider(t *testing.T) {
	h := fastHarness(t, fresh(waiting(place)), photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status = vmv1alpha1.VirtualMachineImageCacheStatus{} }))
	h.imageCache.Default = vmv1alpha1.FastDeployOff
	checkChart(t, h, "provider called")
	if got := h.provider.requests[0].FastDeploy; got != "" {
		t.Errorf("mode %q without fast deploy", got)
	}
}

func TestFastDeploy_EnabledChecksTheCache(t *testing.T) {
	checkChart(t, fastHarness(t, fresh(waiting(place)), photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Conditions = nil })),
		"waits, label photon, location "+place)
}

func TestFastDeploy_ReadyCacheCallsTheProvider(t *testing.T) {
	checkChart(t, fastHarness(t, fresh(waiting(place)), photonCache()), "provider called")
}

func TestFastDeploy_WaitsForTheCache(t *testing.T) {
	h := fastHarness(t, fresh(waiting(place)), photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Locations = nil }))
	if got := h.mustReconcile(); got.Requeue || got.RequeueAfter != 0 {
		t.Errorf("the reconcile requests %+v, but an event of the cache queues the VM", got)
	}
	if len(h.provider.requests) > 0 {
		t.Error("the provider was called")
	}
}

// The arrows of the chart "Fast deploy" that concern the controller: the VM waits for the copies that the provider
// lacks. The provider's tests cover the other arrows.

func lacking(change ...func(*provider.ImageCacheNotReadyError)) *provider.ImageCacheNotReadyError {
	e := &provider.ImageCacheNotReadyError{Name: "photon", Source: photonItem, DatastoreID: "datastore-1", ProfileID: "gold", Reason: "copies are needed",
		Location: vmv1alpha1.VirtualMachineImageCacheLocation{VCenter: "default", Datastore: "/DC0/datastore/ssd", StoragePolicy: "Gold"}}
	for _, f := range change {
		f(e)
	}
	return e
}

func (h *harness) lacks(e error) {
	h.provider.update = func(*provider.Request) (<-chan error, error) { return nil, e }
}

func TestFastDeploy_CreatesAMissingCacheAndWaitsForIt(t *testing.T) {
	h := fastHarness(t, fresh(), nil)
	h.lacks(errors.Join(lacking()))
	if got := h.mustReconcile(); got.Requeue || got.RequeueAfter != 0 {
		t.Errorf("the reconcile requests %+v, but an event of the cache queues the VM", got)
	}
	if got := h.chart(); got != "provider called, label photon, location "+place {
		t.Error(got)
	}
	if got := h.condition(vmv1alpha1.ConditionImageCacheReady); got != "False/NotReady" {
		t.Errorf("ImageCacheReady = %s", got)
	}
	if len(h.provider.requests) != 1 {
		t.Errorf("the provider was called %d times, want once", len(h.provider.requests))
	}
	cache, err := h.api.VmV1alpha1().VirtualMachineImageCaches().Get(t.Context(), "photon", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := vmv1alpha1.VirtualMachineImageCacheSpec{ContentLibrary: photonItem, Locations: []vmv1alpha1.VirtualMachineImageCacheLocation{lacking().Location}}
	if diff := cmp.Diff(want, cache.Spec); diff != "" {
		t.Errorf("cache (-want +got):\n%s", diff)
	}
}

func TestImageCache_RequestIsIdempotent(t *testing.T) {
	for name, tc := range map[string]struct {
		cache  *vmv1alpha1.VirtualMachineImageCache
		lacks  *provider.ImageCacheNotReadyError
		spec   []string
		writes map[string]int
	}{
		"the location is only in the status": {photonCache(), lacking(func(e *provider.ImageCacheNotReadyError) { e.Location.Datastore = "ssd" }), []string{"/DC0/datastore/ssd"}, nil},
		"the location is in the spec":        {photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Locations = nil }), lacking(), []string{"/DC0/datastore/ssd"}, nil},
		"another location": {photonCache(), lacking(func(e *provider.ImageCacheNotReadyError) {
			e.Location.Datastore, e.DatastoreID = "/DC0/datastore/hdd", "datastore-2"
		}), []string{"/DC0/datastore/ssd", "/DC0/datastore/hdd"}, map[string]int{"update virtualmachineimagecaches": 1}},
		"a deleted copy": {photonCache(), lacking(func(e *provider.ImageCacheNotReadyError) { e.Stale = true }), []string{"/DC0/datastore/ssd"},
			map[string]int{"update virtualmachineimagecaches/status": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			h := fastHarness(t, fresh(), tc.cache)
			h.lacks(tc.lacks)
			h.mustReconcile()
			writes := maps.Clone(h.api.calls)
			maps.DeleteFunc(writes, func(call string, _ int) bool {
				return !strings.Contains(call, "virtualmachineimagecaches") || strings.HasPrefix(call, "get")
			})
			if diff := cmp.Diff(tc.writes, writes); diff != "" && len(tc.writes)+len(writes) > 0 {
				t.Errorf("writes (-want +got):\n%s", diff)
			}
			cache, err := h.api.VmV1alpha1().VirtualMachineImageCaches().Get(t.Context(), "photon", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, l := range cache.Spec.Locations {
				got = append(got, l.Datastore)
			}
			if diff := cmp.Diff(tc.spec, got); diff != "" {
				t.Errorf("places (-want +got):\n%s", diff)
			}
			if ready := cache.Status.Locations; tc.lacks.Stale && ready[0].Conditions[0].Status != metav1.ConditionFalse {
				t.Error("the cache still reports that the copies are ready")
			}
		})
	}
}

func TestImageCache_IsNotChangedIfItBelongsToAnotherItem(t *testing.T) {
	h := fastHarness(t, fresh(), photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) {
		c.Spec.ContentLibrary.Item = "ubuntu"
		c.Status.Locations = nil
		c.Spec.Locations = nil
	}))
	h.lacks(lacking())
	if _, err := h.tryReconcile(); err == nil || !strings.Contains(err.Error(), `it belongs to item "ubuntu" of library "golden"`) {
		t.Errorf("error %v", err)
	}
}

// The datastore of a location may be full when a copy fails.
func TestImageCache_ProviderIsCalledAgainAfterMaxWait(t *testing.T) {
	h := fastHarness(t, fresh(waiting(place)), photonCache(func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Locations = nil }))
	checkChart(t, h, "waits, label photon, location "+place)
	h.clock = h.clock.Add(imagecache.MaxWait - 2*time.Second)
	checkChart(t, h, "waits, label photon, location "+place)
	h.clock = h.clock.Add(time.Second)
	checkChart(t, h, "provider called")
}

func TestImageCache_ModeOfTheVMOverridesClassAndServer(t *testing.T) {
	const key = vmv1alpha1.AnnotationFastDeploy
	for name, tc := range map[string]struct {
		vm, class map[string]string
		server    vmv1alpha1.FastDeployMode
		want      vmv1alpha1.FastDeployMode
		invalid   string
	}{
		"server":                {nil, nil, "linked", "linked", ""},
		"class":                 {nil, map[string]string{key: "direct"}, "linked", "direct", ""},
		"VM":                    {map[string]string{key: "linked"}, map[string]string{key: "direct"}, "off", "linked", ""},
		"disabled by the VM":    {map[string]string{key: "off"}, map[string]string{key: "direct"}, "linked", "", ""},
		"disabled by the class": {nil, map[string]string{key: "off"}, "linked", "", ""},
		"invalid in the VM":     {map[string]string{key: "Linked"}, nil, "off", "", `annotation vm.slipway.dev/fast-deploy of the virtual machine is "Linked"; allowed: off, direct, linked`},
		"invalid in the class":  {nil, map[string]string{key: ""}, "off", "", `annotation vm.slipway.dev/fast-deploy of class small is ""; allowed: off, direct, linked`},
	} {
		t.Run(name, func(t *testing.T) {
			vm := fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.Annotations, vm.Spec.ClassName = tc.vm, "small" })
			class := &vmv1alpha1.VirtualMachineClass{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "small", Annotations: tc.class}}
			h := newHarness(t, vm, libraryPhoton(), class)
			h.imageCache.Default = tc.server
			h.mustReconcile()
			if tc.invalid != "" {
				c := findCondition(h.vm(), vmv1alpha1.ConditionImageCacheReady)
				if len(h.provider.requests) > 0 || c == nil || c.Reason != vmv1alpha1.ReasonInvalid || c.Message != tc.invalid {
					t.Fatalf("condition %+v, want %q", c, tc.invalid)
				}
				return
			}
			if got := h.provider.requests[0].FastDeploy; got != tc.want {
				t.Errorf("mode %q, want %q", got, tc.want)
			}
		})
	}
}

func TestImageCache_CreatedVMsDoNotWait(t *testing.T) {
	h := fastHarness(t, fresh(waiting(place), func(vm *vmv1alpha1.VirtualMachine) {
		setTrue(vm, time.Unix(1, 0), vmv1alpha1.ConditionCreated)
	}), nil)
	checkChart(t, h, "provider called")
}

func TestImageCache_OnlyReadinessQueuesVMs(t *testing.T) {
	was := photonCache()
	for name, tc := range map[string]struct {
		change func(*vmv1alpha1.VirtualMachineImageCache)
		news   bool
	}{
		"progress":              {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Locations[0].Progress = 7 }, false},
		"a message":             {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Locations[0].Conditions[0].Message = "x" }, false},
		"a location is ready":   {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Locations[0].Conditions[0].Status = "False" }, true},
		"the OVF is ready":      {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Conditions[0].Status = "False" }, true},
		"a location is removed": {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Locations = nil }, true},
		"another datastore":     {func(c *vmv1alpha1.VirtualMachineImageCache) { c.Status.Locations[0].DatastoreID = "datastore-9" }, true},
		"nothing is changed":    {func(*vmv1alpha1.VirtualMachineImageCache) {}, false},
	} {
		now := photonCache(tc.change)
		if got := !cmp.Equal(imagecache.ReadyLocations(was), imagecache.ReadyLocations(now)); got != tc.news {
			t.Errorf("%s: news = %v, want %v", name, got, tc.news)
		}
	}
}
