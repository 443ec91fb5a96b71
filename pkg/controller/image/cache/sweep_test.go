// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// unusedFiles are copies that are not in use, on datastores with enough space.
type unusedFiles struct{ provider.ImageFiles }

func (unusedFiles) Space(context.Context) (map[string]provider.ImageSpace, error) { return nil, nil }

func (unusedFiles) InUse(context.Context, string, []string) (map[string]string, error) {
	return nil, nil
}

// Users can put the label on any virtual machine, also on one that is paused and never created.
func TestEviction_IsNotPreventedByLabelsOfVirtualMachines(t *testing.T) {
	old := cacheOf("old", "a")
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "tenant", Name: "vm", Labels: map[string]string{vmv1alpha1.LabelImageCache: old.Name}}}
	api := fake.NewSimpleClientset(old, vm)
	informers := externalversions.NewSharedInformerFactory(api, 0)
	c, err := New(Deps{
		Client: api, Informers: informers, VCenters: noVCenters{}, Recorder: events.NewFakeRecorder(1),
		Policy: Policy{MaxAge: time.Minute}, Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Keys.ShutDown()
	if err := c.caches.Add(old); err != nil {
		t.Fatal(err)
	}
	if err := informers.Vm().V1alpha1().VirtualMachines().Informer().GetStore().Add(vm); err != nil {
		t.Fatal(err)
	}
	if err := c.reconcile.evictSome(t.Context(), t.Context(), unusedFiles{}, vmv1alpha1.DefaultVCenter); err != nil {
		t.Fatal(err)
	}
	got, err := api.VmV1alpha1().VirtualMachineImageCaches().Get(t.Context(), old.Name, metav1.GetOptions{})
	if err != nil || len(got.Spec.Locations) != 0 {
		t.Errorf("locations %v, %v; want none", got.Spec.Locations, err)
	}
}
