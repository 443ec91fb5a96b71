// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// readTimeout is the time limit for reading one location.
const readTimeout = 2 * time.Minute

// reconciler reconciles the parts of caches.
type reconciler struct {
	client   vmclient.VirtualMachineImageCacheInterface
	caches   controller.Store[*cacheObject]
	vcenters VCenters
	recorder events.EventRecorder
	due      *due
	sweeps   *sweeps
	policy   Policy
	// enqueue enqueues a part after a delay.
	enqueue func(part, time.Duration)
	// names returns the names of all caches.
	names func() []string
	now   func() time.Time
}

// reconciliation is one reconcile of a part.
type reconciliation struct {
	*reconciler
	part
	cache *cacheObject
	files Files
	// written has functions to call after the status is written.
	written []func()
	// after is the delay of the next reconcile.
	after time.Duration
}

// Reconcile creates and removes copies so that one part of a cache matches its spec.
func (r *reconciler) Reconcile(ctx context.Context, p part) (controller.Result, error) {
	bound, err := r.vcenters.Bind(ctx, p.vcenter)
	if err != nil {
		return controller.Result{RequeueAfter: checkInterval}, ctx.Err() // another replica owns the vCenter
	}
	ctx = bound
	if p.cache == "" {
		return r.sweep(ctx, p)
	}
	stored, err := r.caches.Get(types.NamespacedName{Name: p.cache})
	switch {
	case err != nil:
		return controller.Result{}, fmt.Errorf("reading VirtualMachineImageCache %s: %w", p.cache, err)
	case stored == nil:
		r.drop(p)
		return controller.Result{}, nil
	}
	if stored.DeletionTimestamp == nil {
		if stored, err = controller.AddFinalizer(ctx, r.caches, r.client, stored, vmv1alpha1.ImageCacheFinalizer); err != nil {
			return controller.RequeueOnConflict(err)
		}
	}
	one := &reconciliation{reconciler: r, part: p, cache: stored.DeepCopy(), after: checkInterval}
	if err := one.locations(ctx); err != nil {
		if ctx.Err() != nil || errors.Is(err, provider.ErrNotInUse) {
			return controller.Result{RequeueAfter: controller.Soon}, nil // this is not a fault of the cache
		}
		return controller.Result{}, err
	}
	return one.persist(ctx, stored)
}

// drop ends the operations for a part whose cache is deleted.
func (r *reconciler) drop(p part) {
	r.due.drop(p)
	files, err := r.vcenters.Files(p.vcenter)
	if err != nil {
		return
	}
	for location := range files.ImageOperations() {
		if partOf(location) == p {
			files.EndImageOperation(location)
		}
	}
}

// persist writes the status, and deletes the cache or removes its finalizer when nothing is left.
func (p *reconciliation) persist(ctx context.Context, stored *cacheObject) (controller.Result, error) {
	sortLocations(p.cache)
	summarize(p.cache, p.now())
	p.cache.Status.ObservedGeneration = p.cache.Generation
	if err := p.caches.UpdateStatus(ctx, p.client, p.cache); err != nil {
		return controller.RequeueOnConflict(err)
	}
	for _, f := range p.written {
		f()
	}
	if p.isUnused() {
		return controller.RequeueOnConflict(p.remove(ctx))
	}
	if p.cache.DeletionTimestamp == nil || len(p.cache.Status.Locations) > 0 || !slices.Contains(stored.Finalizers, vmv1alpha1.ImageCacheFinalizer) {
		return controller.Result{RequeueAfter: p.after}, nil
	}
	next, err := p.caches.Get(types.NamespacedName{Name: p.part.cache})
	if err != nil || next == nil {
		return controller.Result{}, err
	}
	return controller.RemoveFinalizer(ctx, p.caches, p.client, next, vmv1alpha1.ImageCacheFinalizer)
}

// isUnused reports whether the server created the cache and no location is left.
func (p *reconciliation) isUnused() bool {
	return p.cache.DeletionTimestamp == nil && len(p.cache.Spec.Locations)+len(p.cache.Status.Locations) == 0 &&
		p.cache.Name == provider.ImageCacheName(p.cache.Spec.ContentLibrary)
}

// remove deletes the cache if it was not changed since it was read.
func (p *reconciliation) remove(ctx context.Context) error {
	now, err := p.caches.Get(types.NamespacedName{Name: p.part.cache})
	if err != nil || now == nil {
		return err
	}
	return p.client.Delete(ctx, now.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &now.UID, ResourceVersion: &now.ResourceVersion}})
}

// locations checks all locations of the part.
func (p *reconciliation) locations(ctx context.Context) error {
	if p.vcenter == "" {
		return nil // only the conditions are summarized
	}
	want := desiredLocations(p.cache)
	mine := map[locationKey]bool{}
	for i := range p.cache.Status.Locations {
		mine[statusKey(p.part.cache, &p.cache.Status.Locations[i])] = true
	}
	for at, l := range want {
		if at.vcenter == p.vcenter && !mine[at] {
			p.cache.Status.Locations = append(p.cache.Status.Locations, locationStatus{VCenter: p.vcenter, Datastore: l.Datastore, StoragePolicy: l.StoragePolicy})
		}
	}
	sortLocations(p.cache)
	var err error
	if p.files, err = p.vcenters.Files(p.vcenter); err != nil {
		return p.handleUnusable(err)
	}
	kept := p.cache.Status.Locations[:0]
	for i := range p.cache.Status.Locations {
		l := p.cache.Status.Locations[i]
		at := statusKey(p.part.cache, &l)
		desired, wants := want[at]
		switch {
		case at.vcenter != p.vcenter:
		case wants:
			p.ensureCopies(ctx, at, desired, &l)
		case p.removeCopies(ctx, at, &l):
			continue
		}
		kept = append(kept, l)
	}
	p.cache.Status.Locations = kept
	return nil
}

// handleUnusable sets the conditions of locations in a VCenter that cannot be used. Copies in a deleted VCenter are not
// removed.
func (p *reconciliation) handleUnusable(err error) error {
	var unusable *provider.NotUsableError
	if !errors.As(err, &unusable) || !unusable.Missing {
		return err
	}
	want := desiredLocations(p.cache)
	p.cache.Status.Locations = slices.DeleteFunc(p.cache.Status.Locations, func(l locationStatus) bool {
		_, wants := want[statusKey(p.part.cache, &l)]
		if l.VCenter != p.vcenter || wants {
			return false
		}
		if l.Directory != "" {
			p.recordEvent(corev1.EventTypeWarning, "CopiesLeft", "Remove", "%s is not removed, because VCenter %s does not exist", l.Directory, l.VCenter)
		}
		return true
	})
	for i := range p.cache.Status.Locations {
		if l := &p.cache.Status.Locations[i]; l.VCenter == p.vcenter {
			p.setUnusable(l, err)
			p.requeueAfter(controller.Poll)
		}
	}
	return nil
}

// setUnusable sets the conditions of a location whose objects cannot be used or could not be read. If they could not be read,
// Ready of existing copies stays True.
func (p *reconciliation) setUnusable(l *locationStatus, err error) {
	c := provider.Unusable(err)
	set(l, p.now(), vmv1alpha1.ConditionProviderReady, c.Status, c.Reason, c.Message)
	if c.Status == metav1.ConditionFalse || !conditions.IsTrue(l.Conditions, vmv1alpha1.ConditionReady) {
		set(l, p.now(), vmv1alpha1.ConditionOVFReady, c.Status, c.Reason, c.Message)
		set(l, p.now(), vmv1alpha1.ConditionReady, c.Status, c.Reason, c.Message)
	}
}

func (p *reconciliation) requeueAfter(after time.Duration) {
	p.after = min(p.after, max(after, 10*time.Millisecond))
}

func (p *reconciliation) recordEvent(kind, reason, action, note string, args ...any) {
	p.recorder.Eventf(p.cache, nil, kind, reason, action, note, args...)
}
