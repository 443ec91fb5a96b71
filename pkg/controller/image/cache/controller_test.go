// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// noVCenters has no vCenter.
type noVCenters struct{ controller.Undivided }

func (noVCenters) Files(string) (Files, error) { return nil, provider.ErrNotInUse }

func (noVCenters) Hints(context.Context, func(provider.Event)) {}

// ended has operations that have ended.
type ended struct {
	provider.ImageFiles
	all map[string]provider.ImageOperation
}

func (e ended) ImageOperations() map[string]provider.ImageOperation { return e.all }

func (e ended) StartImageOperation(context.Context, string, provider.ImageOperation) error {
	return provider.ErrReconcileInProgress
}

func (e ended) EndImageOperation(location string) { delete(e.all, location) }

// Users who can write VMs can set the label and the annotation to any text.
func TestVMHandler_EnqueuesOnlyPartsThatExist(t *testing.T) {
	for name, tc := range map[string]struct {
		cache, place string
		want         int
	}{
		"a location of a cache": {"photon", "default,datastore-1,", 1},
		"an unknown vCenter":    {"photon", "made-up,datastore-1,", 0},
		"an unknown cache":      {"made-up", "default,datastore-1,", 0},
		"no location":           {"photon", "", 0},
		"no cache":              {"", "default,datastore-1,", 0},
	} {
		api := fake.NewSimpleClientset()
		c, err := New(Deps{Client: api, Informers: externalversions.NewSharedInformerFactory(api, 0), VCenters: noVCenters{}, Recorder: events.NewFakeRecorder(1)})
		if err != nil {
			t.Fatal(err)
		}
		photon := &vmv1alpha1.VirtualMachineImageCache{}
		photon.Name, photon.Spec.Locations = "photon", []vmv1alpha1.VirtualMachineImageCacheLocation{{Datastore: "/DC0/datastore/ssd"}}
		if err := c.caches.Add(photon); err != nil {
			t.Fatal(err)
		}
		vm := &vmv1alpha1.VirtualMachine{}
		vm.Labels = map[string]string{vmv1alpha1.LabelImageCache: tc.cache}
		vm.Annotations = map[string]string{vmv1alpha1.AnnotationImageCacheLocation: tc.place}
		c.vmHandler().OnAdd(vm, false)
		if got := c.Keys.Snapshot().Delayed; got != tc.want {
			t.Errorf("%s: %d parts are queued, want %d", name, got, tc.want)
		}
		c.Keys.ShutDown()
	}
}

// If two vCenters end their copies at the same time, one of the two updates of the status fails with a conflict.
func TestOperation_IsKeptUntilTheStatusIsWritten(t *testing.T) {
	stored := cacheOf("photon", "a", func(c *cacheObject) {
		l := &c.Status.Locations[0]
		l.Files, l.Progress, l.ContentSize = nil, 0, nil
		set(l, now, vmv1alpha1.ConditionReady, metav1.ConditionFalse, vmv1alpha1.ReasonInProgress, "the image is being copied")
	})
	api, conflicts := fake.NewSimpleClientset(stored), 1
	api.PrependReactor("update", "virtualmachineimagecaches", func(clienttesting.Action) (bool, runtime.Object, error) {
		conflicts--
		return conflicts >= 0, nil, apierrors.NewConflict(vmv1alpha1.Resource("virtualmachineimagecaches"), stored.Name, nil)
	})
	recorder := events.NewFakeRecorder(10)
	c, err := New(Deps{Client: api, Informers: externalversions.NewSharedInformerFactory(api, 0), VCenters: noVCenters{}, Recorder: recorder, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Keys.ShutDown()
	if err := c.caches.Add(stored); err != nil {
		t.Fatal(err)
	}
	r, at := c.reconcile, statusKey(stored.Name, &stored.Status.Locations[0])
	op := provider.ImageOperation{
		Kind: provider.ImageCopy, Directory: stored.Status.Locations[0].Directory, Ended: true, Files: make([]vmv1alpha1.VirtualMachineImageCacheFile, 1),
	}
	files := ended{all: map[string]provider.ImageOperation{at.String(): op}}
	for _, want := range []struct{ conflict, done bool }{{true, false}, {false, true}} {
		p := &reconciliation{reconciler: r, part: at.part, cache: stored.DeepCopy(), files: files}
		if !p.recordResult(at, op, &p.cache.Status.Locations[0]) {
			t.Fatal("the result is not recorded")
		}
		if _, err := p.persist(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		if got := len(files.all) == 0; got != want.done || len(recorder.Events) > 0 != want.done {
			t.Errorf("conflict %t: the operation is removed: %t, with %d events; want %t", want.conflict, got, len(recorder.Events), want.done)
		}
	}
	written, err := api.VmV1alpha1().VirtualMachineImageCaches().Get(t.Context(), stored.Name, metav1.GetOptions{})
	if err != nil || !conditions.IsTrue(written.Status.Locations[0].Conditions, vmv1alpha1.ConditionReady) {
		t.Errorf("written status %+v, %v", written.Status.Locations, err)
	}
}
