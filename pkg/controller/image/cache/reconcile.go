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

const (
	// readTimeout bounds what is asked about one location.
	readTimeout = 2 * time.Minute
)

// reconciler makes the passes.
type reconciler struct {
	client   vmclient.VirtualMachineImageCacheInterface
	caches   controller.Store[*cacheObject]
	vcenters VCenters
	recorder events.EventRecorder
	due      *due
	sweeps   *sweeps
	policy   Policy
	// look queues a part after a time.
	look func(part, time.Duration)
	// names are those of all caches.
	names func() []string
	now   func() time.Time
}

// pass is one pass over a part.
type pass struct {
	*reconciler
	part
	cache *cacheObject
	files Files
	// written is what is done when the status is written.
	written []func()
	// after is when the next pass is due.
	after time.Duration
}

// Reconcile makes one part of a cache what its spec says.
func (r *reconciler) Reconcile(ctx context.Context, p part) (controller.Result, error) {
	bound, err := r.vcenters.Bind(ctx, p.vcenter)
	if err != nil {
		return controller.Result{RequeueAfter: lookInterval}, ctx.Err() // another process's
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
			return controller.Overtaken(err)
		}
	}
	one := &pass{reconciler: r, part: p, cache: stored.DeepCopy(), after: lookInterval}
	if err := one.locations(ctx); err != nil {
		if ctx.Err() != nil || errors.Is(err, provider.ErrNotInUse) {
			return controller.Result{RequeueAfter: controller.Soon}, nil // it is nothing about the cache
		}
		return controller.Result{}, err
	}
	return one.persist(ctx, stored)
}

// drop ends what is done for a part whose cache is gone.
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

// persist is the one place that writes.
func (p *pass) persist(ctx context.Context, stored *cacheObject) (controller.Result, error) {
	order(p.cache)
	summarize(p.cache, p.now())
	p.cache.Status.ObservedGeneration = p.cache.Generation
	if err := p.caches.UpdateStatus(ctx, p.client, p.cache); err != nil {
		return controller.Overtaken(err)
	}
	for _, f := range p.written {
		f()
	}
	if p.spent() {
		return controller.Overtaken(p.remove(ctx))
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

// spent is true of a cache that was made by the server, and that nothing is asked of any more.
func (p *pass) spent() bool {
	return p.cache.DeletionTimestamp == nil && len(p.cache.Spec.Locations)+len(p.cache.Status.Locations) == 0 &&
		p.cache.Name == provider.ImageCacheName(p.cache.Spec.ContentLibrary)
}

// remove deletes a cache unless somebody has asked it for copies since.
func (p *pass) remove(ctx context.Context) error {
	now, err := p.caches.Get(types.NamespacedName{Name: p.part.cache})
	if err != nil || now == nil {
		return err
	}
	return p.client.Delete(ctx, now.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &now.UID, ResourceVersion: &now.ResourceVersion}})
}

// locations goes over the locations of the part.
func (p *pass) locations(ctx context.Context) error {
	if p.vcenter == "" {
		return nil // what no vCenter has is only summed up
	}
	want := wanted(p.cache)
	mine := map[spot]bool{}
	for i := range p.cache.Status.Locations {
		mine[spotOfStatus(p.part.cache, &p.cache.Status.Locations[i])] = true
	}
	for at, l := range want {
		if at.vcenter == p.vcenter && !mine[at] {
			p.cache.Status.Locations = append(p.cache.Status.Locations, locationStatus{VCenter: p.vcenter, Datastore: l.Datastore, StoragePolicy: l.StoragePolicy})
		}
	}
	order(p.cache)
	var err error
	if p.files, err = p.vcenters.Files(p.vcenter); err != nil {
		return p.without(err)
	}
	kept := p.cache.Status.Locations[:0]
	for i := range p.cache.Status.Locations {
		l := p.cache.Status.Locations[i]
		at := spotOfStatus(p.part.cache, &l)
		asked, wants := want[at]
		switch {
		case at.vcenter != p.vcenter:
		case wants:
			p.keep(ctx, at, asked, &l)
		case p.leave(ctx, at, &l):
			continue
		}
		kept = append(kept, l)
	}
	p.cache.Status.Locations = kept
	return nil
}

// without deals with a vCenter that cannot be used. The copies in one that is none of ours
// any more are left where they are.
func (p *pass) without(err error) error {
	var unusable *provider.NotUsableError
	if !errors.As(err, &unusable) || !unusable.Missing {
		return err
	}
	want := wanted(p.cache)
	p.cache.Status.Locations = slices.DeleteFunc(p.cache.Status.Locations, func(l locationStatus) bool {
		_, wants := want[spotOfStatus(p.part.cache, &l)]
		if l.VCenter != p.vcenter || wants {
			return false
		}
		if l.Directory != "" {
			p.tell(corev1.EventTypeWarning, "CopiesLeft", "Remove", "%s is left in VCenter %s, which there is none of any more", l.Directory, l.VCenter)
		}
		return true
	})
	for i := range p.cache.Status.Locations {
		if l := &p.cache.Status.Locations[i]; l.VCenter == p.vcenter {
			p.unready(l, err)
			p.next(controller.Poll)
		}
	}
	return nil
}

// unready says of a location that what it names cannot be used, or could not be read: then
// the copies that are there still are.
func (p *pass) unready(l *locationStatus, err error) {
	c := provider.Unusable(err)
	set(l, p.now(), vmv1alpha1.ConditionProviderReady, c.Status, c.Reason, c.Message)
	if c.Status == metav1.ConditionFalse || !conditions.IsTrue(l.Conditions, vmv1alpha1.ConditionReady) {
		set(l, p.now(), vmv1alpha1.ConditionOVFReady, c.Status, c.Reason, c.Message)
		set(l, p.now(), vmv1alpha1.ConditionReady, c.Status, c.Reason, c.Message)
	}
}

func (p *pass) next(after time.Duration) { p.after = min(p.after, max(after, 10*time.Millisecond)) }

func (p *pass) tell(kind, reason, action, note string, args ...any) {
	p.recorder.Eventf(p.cache, nil, kind, reason, action, note, args...)
}
