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

// versionRetry is the interval in which Run checks whether the contract's API is served.
const versionRetry = 10 * time.Second

// claimWatch has the watched claims. The watch starts when the first claim is requested.
type claimWatch struct {
	once   sync.Once
	needed chan struct{}

	mu     sync.Mutex
	claims cache.SharedIndexInformer
}

func newClaimWatch() *claimWatch { return &claimWatch{needed: make(chan struct{})} }

// start starts the watch.
func (s *claimWatch) start() { s.once.Do(func() { close(s.needed) }) }

// Run watches the claims of virtual machines until ctx is done. It starts the watch when the first claim is requested.
// It calls changed with the virtual machine of each changed claim.
func (c *Claims) Run(ctx context.Context, changed func(types.NamespacedName)) {
	select {
	case <-ctx.Done():
		return
	case <-c.watched.needed:
	}
	version, err := c.servedVersion(ctx)
	for err != nil {
		klog.FromContext(ctx).V(2).Info("IPAddressClaims cannot be watched yet", "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(versionRetry):
			version, err = c.servedVersion(ctx)
		}
	}
	informer := dynamicinformer.NewFilteredDynamicInformer(c.client,
		schema.GroupVersionResource{Group: Group, Version: version, Resource: "ipaddressclaims"}, metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = UIDLabel }).Informer()
	notify := func(obj any) {
		if deleted, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = deleted.Obj
		}
		if claim, ok := obj.(*unstructured.Unstructured); ok {
			changed(types.NamespacedName{Namespace: claim.GetNamespace(), Name: claim.GetAnnotations()[NameAnnotation]})
		}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: notify, UpdateFunc: func(_, now any) { notify(now) }, DeleteFunc: notify,
	}); err != nil {
		klog.FromContext(ctx).Error(err, "Watching IPAddressClaims failed")
		return
	}
	c.watched.mu.Lock()
	c.watched.claims = informer
	c.watched.mu.Unlock()
	informer.RunWithContext(ctx)
}

// Problem returns the problem of a claim whose address is in use, according to the watch. It is empty if there is no
// problem.
func (c *Claims) Problem(vm *vmv1alpha1.VirtualMachine, claimed vmv1alpha1.ClaimedAddress) string {
	c.watched.start()
	c.watched.mu.Lock()
	informer := c.watched.claims
	c.watched.mu.Unlock()
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
		return fmt.Sprintf("IPAddressClaim %q does not exist: its pool may assign %s to another claim", claimed.ClaimName, claimed.Address)
	case claim.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("IPAddressClaim %q is being deleted: %s is kept while the virtual machine exists in vSphere", claimed.ClaimName, claimed.Address)
	}
	return ""
}
