// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"

	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// noVCenters are none.
type noVCenters struct{}

func (noVCenters) Bind(ctx context.Context, _ string) (context.Context, error) { return ctx, nil }

func (noVCenters) Files(string) (provider.ImageFiles, error) { return nil, provider.ErrNotInUse }

func (noVCenters) Watch(context.Context, func(string)) {}

// Whoever may write a virtual machine may label it, with any text and again and again.
func TestOnlyWhatCachesHaveIsLookedAtForVirtualMachinesThatWait(t *testing.T) {
	for name, tc := range map[string]struct {
		cache, place string
		want         int
	}{
		"a place of a cache":        {"photon", "default,datastore-1,", 1},
		"one of no such vCenter":    {"photon", "made-up,datastore-1,", 0},
		"one of no such cache":      {"made-up", "default,datastore-1,", 0},
		"none":                      {"photon", "", 0},
		"a place that nobody wants": {"", "default,datastore-1,", 0},
	} {
		api := fake.NewSimpleClientset()
		c, err := New(Deps{Client: api, Informers: externalversions.NewSharedInformerFactory(api, 0), VCenters: noVCenters{}, Recorder: events.NewFakeRecorder(1)})
		if err != nil {
			t.Fatal(err)
		}
		photon := &vmv1alpha1.VirtualMachineImageCache{}
		photon.Name, photon.Spec.Locations = "photon", []vmv1alpha1.VirtualMachineImageCacheLocation{{Datastore: "/DC0/datastore/ssd"}}
		if err := c.caches.GetStore().Add(photon); err != nil {
			t.Fatal(err)
		}
		vm := &vmv1alpha1.VirtualMachine{}
		vm.Labels = map[string]string{vmv1alpha1.LabelImageCache: tc.cache}
		vm.Annotations = map[string]string{vmv1alpha1.AnnotationImageCacheLocation: tc.place}
		c.waits().OnAdd(vm, false)
		if got := c.Keys.Len(); got != tc.want || len(c.reconcile.due.doubted) != tc.want {
			t.Errorf("%s: %d parts are queued and %d doubted, want %d", name, got, len(c.reconcile.due.doubted), tc.want)
		}
		c.Keys.ShutDown()
	}
}
