// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// sweepInterval is how often it is looked whether copies have to go.
	sweepInterval = time.Minute
	// collectInterval is how often all datastores are searched for directories that nobody
	// names, although none is known.
	collectInterval = 6 * time.Hour
)

// sweeps are what is known of vCenters as a whole.
type sweeps struct {
	mu sync.Mutex
	// dirty are those that may have directories that nobody names.
	dirty map[string]bool
	// collected is when they were searched at last.
	collected map[string]time.Time
	// short are the datastores on which a copy had no room, by vCenter.
	short map[string]map[string]bool
}

func newSweeps() *sweeps {
	return &sweeps{dirty: map[string]bool{}, collected: map[string]time.Time{}, short: map[string]map[string]bool{}}
}

// litter notes that a directory may not be named any more.
func (s *sweeps) litter(vcenter string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty[vcenter] = true
}

// lacks notes that a datastore has no room.
func (s *sweeps) lacks(vcenter, datastore string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.short[vcenter] == nil {
		s.short[vcenter] = map[string]bool{}
	}
	s.short[vcenter][datastore] = true
}

// takeShort returns the datastores that have no room, and forgets them: another copy will
// say so again.
func (s *sweeps) takeShort(vcenter string) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	short := s.short[vcenter]
	delete(s.short, vcenter)
	return short
}

// due is true when datastores are to be searched.
func (s *sweeps) due(vcenter string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dirty[vcenter] || now.Sub(s.collected[vcenter]) >= collectInterval
}

// searched notes that they were.
func (s *sweeps) searched(vcenter string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty[vcenter], s.collected[vcenter] = false, now
}

// sweepOf is the part that stands for a vCenter as a whole.
func sweepOf(vcenter string) part { return part{vcenter: vcenter} }

// sweep lets copies go that have to, and removes directories that nobody names.
func (r *reconciler) sweep(ctx context.Context, p part) (controller.Result, error) {
	files, err := r.vcenters.Files(p.vcenter)
	var unusable *provider.NotUsableError
	switch {
	case errors.As(err, &unusable):
		return controller.Result{}, nil // a cache brings it back
	case err != nil:
		return controller.Result{RequeueAfter: controller.Soon}, nil
	}
	again := controller.Result{RequeueAfter: sweepInterval}
	at := spot{part: p}.String()
	if op := files.ImageOperations()[at]; op.Ended {
		files.EndImageOperation(at)
		if op.Err != nil {
			klog.FromContext(ctx).Info("Directories of images that nobody names are still there", "vCenter", p.vcenter, "cause", op.Err.Error())
		}
	}
	if r.sweeps.due(p.vcenter, r.now()) {
		err := files.StartImageOperation(ctx, at, provider.ImageOperation{
			Kind: provider.ImageCollection,
			Run: func(ctx context.Context, _ func(int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
				r.sweeps.searched(p.vcenter, r.now())
				err := r.collect(ctx, files, p.vcenter)
				if err != nil {
					r.sweeps.litter(p.vcenter)
				}
				return nil, err
			},
		})
		if wait, later := provider.AsRequeue(err); later {
			again.RequeueAfter = min(again.RequeueAfter, max(wait, controller.Soon))
		}
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := r.evictSome(ctx, reading, files, p.vcenter); err != nil && ctx.Err() == nil {
		return controller.Result{}, err
	}
	return again, nil
}

// all are the caches as they were written last.
func (r *reconciler) all() []*cacheObject {
	var out []*cacheObject
	for _, name := range r.names() {
		if c, err := r.caches.Get(types.NamespacedName{Name: name}); err == nil && c != nil {
			out = append(out, c)
		}
	}
	return out
}

// named tells whether a directory is one that a cache, or an operation, is about.
func (r *reconciler) named(files Files, vcenter, directory string) bool {
	for _, op := range files.ImageOperations() {
		if op.Directory == directory {
			return true
		}
	}
	return slices.ContainsFunc(r.all(), func(c *cacheObject) bool {
		return slices.ContainsFunc(c.Status.Locations, func(l locationStatus) bool {
			return l.VCenter == vcenter && provider.SameDirectory(l.Directory, directory)
		})
	})
}

// collect removes the directories that nobody names. One was named before it was made, and so
// none is found here whose name is still to be written.
func (r *reconciler) collect(ctx context.Context, files Files, vcenter string) error {
	found, err := files.Directories(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range found {
		if r.named(files, vcenter, d.Directory) {
			continue
		}
		if err := files.Remove(ctx, d.DatastoreID, d.Directory); err != nil {
			errs = append(errs, fmt.Errorf("removing %s: %w", d.Directory, err))
			continue
		}
		klog.FromContext(ctx).Info("Removed a directory of an image that nobody names", "vCenter", vcenter, "directory", d.Directory)
	}
	return errors.Join(errs...)
}

// evictSome takes locations from the specs of caches: their copies are removed then.
func (r *reconciler) evictSome(ctx, reading context.Context, files provider.ImageFiles, vcenter string) error {
	caches := r.all()
	if len(caches) == 0 {
		return nil
	}
	all := evictable(caches, vcenter, r.policy, r.now())
	if len(all) == 0 {
		return nil
	}
	space, err := files.Space(reading)
	if err != nil {
		return err
	}
	short := r.sweeps.takeShort(vcenter)
	if len(evict(all, nil, space, short, r.policy)) == 0 {
		return nil
	}
	byStore := map[string][]string{}
	for _, one := range all {
		byStore[one.DatastoreID] = append(byStore[one.DatastoreID], one.Directory)
	}
	used := map[string]string{}
	for id, directories := range byStore {
		by, err := files.InUse(reading, id, directories)
		if err != nil {
			return fmt.Errorf("looking which copies are in use: %w", err)
		}
		for dir, who := range by {
			used[dir] = who
		}
	}
	for _, one := range evict(all, used, space, short, r.policy) {
		if err := r.takeAway(ctx, one); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// takeAway takes a location from the spec of a cache that was made by the server.
func (r *reconciler) takeAway(ctx context.Context, one candidate) error {
	stored, err := r.caches.Get(types.NamespacedName{Name: one.at.cache})
	if err != nil || stored == nil {
		return err
	}
	next := stored.DeepCopy()
	next.Spec.Locations = slices.DeleteFunc(next.Spec.Locations, func(l location) bool { return spotOf(next.Name, &l) == one.at })
	if _, err := r.caches.Update(ctx, r.client, next); err != nil {
		return err
	}
	r.recorder.Eventf(stored, nil, corev1.EventTypeNormal, "Evicted", "Evict", "The copies in %s go: %s", one.Directory, one.why)
	return nil
}
