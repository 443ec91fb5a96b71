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
	// sweepInterval is the interval of the checks for copies to remove.
	sweepInterval = time.Minute
	// collectInterval is the interval of searches for unused directories on all datastores if none is known to exist.
	collectInterval = 6 * time.Hour
)

// sweeps has the state of the sweeps of each vCenter.
type sweeps struct {
	mu sync.Mutex
	// dirty has the vCenters that may have directories which no status names.
	dirty map[string]bool
	// collected has the time of the last search.
	collected map[string]time.Time
	// short has the datastores on which a copy failed for lack of space, by vCenter.
	short map[string]map[string]bool
}

func newSweeps() *sweeps {
	return &sweeps{dirty: map[string]bool{}, collected: map[string]time.Time{}, short: map[string]map[string]bool{}}
}

// setDirty records that a directory may not be in any status.
func (s *sweeps) setDirty(vcenter string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty[vcenter] = true
}

// setShort records that a datastore has no space.
func (s *sweeps) setShort(vcenter, datastore string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.short[vcenter] == nil {
		s.short[vcenter] = map[string]bool{}
	}
	s.short[vcenter][datastore] = true
}

// takeShort returns the datastores without space and removes them from the state. A copy that fails again adds them again.
func (s *sweeps) takeShort(vcenter string) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	short := s.short[vcenter]
	delete(s.short, vcenter)
	return short
}

// due reports whether the datastores must be searched.
func (s *sweeps) due(vcenter string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dirty[vcenter] || now.Sub(s.collected[vcenter]) >= collectInterval
}

// recordSearch records the time of a search.
func (s *sweeps) recordSearch(vcenter string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty[vcenter], s.collected[vcenter] = false, now
}

// sweepPart returns the queue key of the sweep of a vCenter.
func sweepPart(vcenter string) part { return part{vcenter: vcenter} }

// sweep evicts copies according to the policy and removes directories that no status names.
func (r *reconciler) sweep(ctx context.Context, p part) (controller.Result, error) {
	files, err := r.vcenters.Files(p.vcenter)
	var unusable *provider.NotUsableError
	switch {
	case errors.As(err, &unusable):
		return controller.Result{}, nil // enqueued again by the next cache in the vCenter
	case err != nil:
		return controller.Result{RequeueAfter: controller.Soon}, nil
	}
	again := controller.Result{RequeueAfter: sweepInterval}
	at := locationKey{part: p}.String()
	if op := files.ImageOperations()[at]; op.Ended {
		files.EndImageOperation(at)
		if op.Err != nil {
			klog.FromContext(ctx).Info("Unused image directories could not be removed", "vCenter", p.vcenter, "cause", op.Err.Error())
		}
	}
	if r.sweeps.due(p.vcenter, r.now()) {
		err := files.StartImageOperation(ctx, at, provider.ImageOperation{
			Kind: provider.ImageCollection,
			Run: func(ctx context.Context, _ func(int32)) ([]vmv1alpha1.VirtualMachineImageCacheFile, error) {
				r.sweeps.recordSearch(p.vcenter, r.now())
				err := r.collect(ctx, files, p.vcenter)
				if err != nil {
					r.sweeps.setDirty(p.vcenter)
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

// allCaches returns all caches in their latest version.
func (r *reconciler) allCaches() []*cacheObject {
	var out []*cacheObject
	for _, name := range r.names() {
		if c, err := r.caches.Get(types.NamespacedName{Name: name}); err == nil && c != nil {
			out = append(out, c)
		}
	}
	return out
}

// isNamed reports whether the status of a cache or an operation has a directory.
func (r *reconciler) isNamed(files Files, vcenter, directory string) bool {
	for _, op := range files.ImageOperations() {
		if op.Directory == directory {
			return true
		}
	}
	return slices.ContainsFunc(r.allCaches(), func(c *cacheObject) bool {
		return slices.ContainsFunc(c.Status.Locations, func(l locationStatus) bool {
			return l.VCenter == vcenter && provider.SameDirectory(l.Directory, directory)
		})
	})
}

// collect removes the directories that no status names. Status has a directory before it is created, so that collect does
// not remove new directories.
func (r *reconciler) collect(ctx context.Context, files Files, vcenter string) error {
	found, err := files.Directories(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range found {
		if r.isNamed(files, vcenter, d.Directory) {
			continue
		}
		if err := files.Remove(ctx, d.DatastoreID, d.Directory); err != nil {
			errs = append(errs, fmt.Errorf("removing %s: %w", d.Directory, err))
			continue
		}
		klog.FromContext(ctx).Info("Removed an unused image directory", "vCenter", vcenter, "directory", d.Directory)
	}
	return errors.Join(errs...)
}

// evictSome removes locations from the specs of caches, so that their copies are removed.
func (r *reconciler) evictSome(ctx, reading context.Context, files provider.ImageFiles, vcenter string) error {
	caches := r.allCaches()
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
			return fmt.Errorf("checking which copies are in use: %w", err)
		}
		for dir, user := range by {
			used[dir] = user
		}
	}
	for _, one := range evict(all, used, space, short, r.policy) {
		if err := r.removeLocation(ctx, one); err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// removeLocation removes a location from the spec of a cache that the server created.
func (r *reconciler) removeLocation(ctx context.Context, one candidate) error {
	stored, err := r.caches.Get(types.NamespacedName{Name: one.at.cache})
	if err != nil || stored == nil {
		return err
	}
	next := stored.DeepCopy()
	next.Spec.Locations = slices.DeleteFunc(next.Spec.Locations, func(l location) bool { return specKey(next.Name, &l) == one.at })
	if _, err := r.caches.Update(ctx, r.client, next); err != nil {
		return err
	}
	r.recorder.Eventf(stored, nil, corev1.EventTypeNormal, "Evicted", "Evict", "Removing the copies in %s: %s", one.Directory, one.reason)
	return nil
}
