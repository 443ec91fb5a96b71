// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package addressclaim

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// versionRetry is how long Run waits for a contract that is not served yet.
const versionRetry = 10 * time.Second

// sightings are the claims that the watch shows, from when the first is asked for.
type sightings struct {
	once   sync.Once
	wanted chan struct{}

	mu     sync.Mutex
	claims cache.SharedIndexInformer
}

func newSightings() *sightings { return &sightings{wanted: make(chan struct{})} }

// watch says that there can be claims.
func (s *sightings) watch() { s.once.Do(func() { close(s.wanted) }) }

// Run watches the claims of virtual machines, once there can be any, until ctx is done.
// changed is called with the virtual machine of each that has changed.
func (c *Claims) Run(ctx context.Context, changed func(types.NamespacedName)) {
	select {
	case <-ctx.Done():
		return
	case <-c.seen.wanted:
	}
	version, err := c.served(ctx)
	for err != nil {
		klog.FromContext(ctx).V(2).Info("Claims of addresses cannot be watched yet", "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(versionRetry):
			version, err = c.served(ctx)
		}
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(c.client,
		schema.GroupVersionResource{Group: Group, Version: version, Resource: "ipaddressclaims"}, metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = UIDLabel }).Informer()
	tell := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if claim, ok := obj.(*unstructured.Unstructured); ok {
			changed(types.NamespacedName{Namespace: claim.GetNamespace(), Name: claim.GetAnnotations()[NameAnnotation]})
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, now any) { tell(now) }, DeleteFunc: tell,
	}); err != nil {
		klog.FromContext(ctx).Error(err, "Watching claims of addresses")
		return
	}
	c.seen.mu.Lock()
	c.seen.claims = informer
	c.seen.mu.Unlock()
	informer.RunWithContext(ctx)
}

// Held says what is wrong with a claim whose address is in use, as far as the watch shows
// it; empty for nothing.
func (c *Claims) Held(vm *vmv1alpha1.VirtualMachine, claimed vmv1alpha1.ClaimedAddress) string {
	c.seen.watch()
	c.seen.mu.Lock()
	informer := c.seen.claims
	c.seen.mu.Unlock()
	if informer == nil || !informer.HasSynced() {
		return ""
	}
	obj, exists, err := informer.GetStore().GetByKey(vm.Namespace + "/" + claimed.ClaimName)
	if err != nil {
		return ""
	}
	claim, _ := obj.(*unstructured.Unstructured)
	switch {
	case !exists || claim == nil || claim.GetLabels()[UIDLabel] != string(vm.UID):
		return fmt.Sprintf("IPAddressClaim %q is gone: its pool may give %s to another", claimed.ClaimName, claimed.Address)
	case claim.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("IPAddressClaim %q is being deleted: %s is kept as long as the virtual machine is in vSphere", claimed.ClaimName, claimed.Address)
	}
	return ""
}
