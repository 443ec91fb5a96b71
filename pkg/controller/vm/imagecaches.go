// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// indexByCache has virtual machines by the image cache that they wait for.
	indexByCache = "imageCache"
	// indexByItem has image caches by the item that they are of.
	indexByItem = "item"
)

// itemIndexer finds the caches of an item.
var itemIndexer = cache.Indexers{indexByItem: controller.IndexBy(func(c *vmv1alpha1.VirtualMachineImageCache) []string {
	return []string{cacheKey(c.Spec.ContentLibrary)}
})}

// cachesOf finds the caches of an item in the store of an informer.
func cachesOf(indexer cache.Indexer, store controller.Store[*vmv1alpha1.VirtualMachineImageCache]) func(string) ([]*vmv1alpha1.VirtualMachineImageCache, error) {
	return func(key string) ([]*vmv1alpha1.VirtualMachineImageCache, error) {
		names, err := indexer.IndexKeys(indexByItem, key)
		if err != nil {
			return nil, err
		}
		var out []*vmv1alpha1.VirtualMachineImageCache
		for _, name := range names {
			c, err := store.Get(types.NamespacedName{Name: name})
			if err != nil {
				return nil, err
			}
			if c != nil {
				out = append(out, c)
			}
		}
		return out, nil
	}
}

// caches handles the events of image caches: only what virtual machines wait for is news,
// and not how far a copy has come.
func (e *enqueuer) caches() cache.ResourceEventHandler {
	all := e.Related(indexByCache, func(o metav1.Object) string { return o.GetName() }).(cache.ResourceEventHandlerDetailedFuncs)
	wake := all.UpdateFunc
	all.UpdateFunc = func(old, obj any) {
		if !equality.Semantic.DeepEqual(placesReady(old), placesReady(obj)) {
			wake(old, obj)
		}
	}
	return all
}

// placesReady is what a virtual machine can wait for.
func placesReady(obj any) map[provider.CachePlace]bool {
	c, ok := obj.(*vmv1alpha1.VirtualMachineImageCache)
	if !ok {
		return nil
	}
	out := map[provider.CachePlace]bool{{}: meta.IsStatusConditionTrue(c.Status.Conditions, vmv1alpha1.ConditionOVFReady)}
	for i := range c.Status.Locations {
		l := &c.Status.Locations[i]
		place := provider.CachePlace{VCenter: l.VCenter, DatastoreID: l.DatastoreID, ProfileID: l.ProfileID}
		out[place] = meta.IsStatusConditionTrue(l.Conditions, vmv1alpha1.ConditionReady)
	}
	return out
}
