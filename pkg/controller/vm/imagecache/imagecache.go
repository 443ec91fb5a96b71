// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagecache decides whether a new virtual machine has to wait for copies of its image, and requests them.
package imagecache

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// MaxWait is how long a virtual machine waits for one place before the provider is asked
// again where it goes: a datastore may be full or gone by then. Nothing wakes it for that
// but what wakes it anyhow.
const MaxWait = 5 * time.Minute

// indexByItem has image caches by the item that they are of.
const indexByItem = "item"

// Indexers of image caches.
var Indexers = cache.Indexers{indexByItem: controller.IndexBy(func(c *vmv1alpha1.VirtualMachineImageCache) []string {
	return []string{itemKey(c.Spec.ContentLibrary)}
})}

func itemKey(of vmv1alpha1.ContentLibraryImageSource) string { return of.Library + "\x00" + of.Item }

// Reconciler decides by image caches, whose informer has Indexers.
type Reconciler struct {
	Caches controller.Store[*vmv1alpha1.VirtualMachineImageCache]
	Client vmclient.VirtualMachineImageCachesGetter
	Reader instancetype.Reader
	// Default is the mode if neither a virtual machine nor its class has one.
	Default vmv1alpha1.FastDeployMode
}

// Mode returns how the disks of a new virtual machine are made: as the virtual machine says,
// or else its class, or else the server.
func (r *Reconciler) Mode(ctx context.Context, vm *vmv1alpha1.VirtualMachine) (vmv1alpha1.FastDeployMode, error) {
	if mode, ok := vm.Annotations[vmv1alpha1.AnnotationFastDeploy]; ok {
		return fastDeployMode("the virtual machine", mode)
	}
	if vm.Spec.ClassName != "" {
		class, err := r.Reader.Class(ctx, vm.Namespace, vm.Spec.ClassName)
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("reading class %q: %w", vm.Spec.ClassName, err)
		}
		if err == nil {
			if mode, ok := class.Annotations[vmv1alpha1.AnnotationFastDeploy]; ok {
				return fastDeployMode("class "+vm.Spec.ClassName, mode)
			}
		}
	}
	return r.Default, nil
}

// modeError says that an annotation names no mode.
type modeError struct{ message string }

func (e *modeError) Error() string { return e.message }

func fastDeployMode(whose, text string) (vmv1alpha1.FastDeployMode, error) {
	mode := vmv1alpha1.FastDeployMode(text)
	if !slices.Contains(vmv1alpha1.FastDeployModes, mode) {
		return "", &modeError{fmt.Sprintf("annotation %s of %s is %q; allowed: off, direct, linked", vmv1alpha1.AnnotationFastDeploy, whose, text)}
	}
	return mode, nil
}

// State is what the decision depends on.
type State struct {
	step.State
	// Image is nil if there is none.
	Image *vmv1alpha1.VirtualMachineImage
}

// Report is what is known of the copies of an image. While it waits, the provider need not be called.
type Report struct {
	step.Report
	Mode  vmv1alpha1.FastDeployMode
	Cache *vmv1alpha1.VirtualMachineImageCache
}

// Reconcile returns whether a virtual machine that is made of copies has to wait for them.
func (r *Reconciler) Reconcile(ctx context.Context, s State) (Report, error) {
	var report Report
	if s.Observed.Created {
		stopWaiting(s.VM)
		return report, nil
	}
	mode, err := r.Mode(ctx, s.VM)
	if invalid, ok := err.(*modeError); ok { //nolint:errorlint // it is made above
		report.False(vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonInvalid, invalid.message)
		report.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+vmv1alpha1.ConditionImageCacheReady)
		report.Wait = true
		return report, nil
	}
	if err != nil {
		return report, err
	}
	if mode == vmv1alpha1.FastDeployOff || s.Image == nil || s.Image.Spec.ContentLibrary == nil {
		stopWaiting(s.VM)
		if s.Image != nil {
			report.Remove(vmv1alpha1.ConditionImageCacheReady)
		}
		return report, nil
	}
	report.Mode, report.Cache = mode, r.cacheOf(*s.Image.Spec.ContentLibrary)
	err = r.await(&report, s)
	return report, err
}

// await is the decision of VM Operator's chart: whether the cache that the virtual
// machine waits for, if any, has the copies where it needs them.
func (r *Reconciler) await(report *Report, s State) error {
	name, labelled := s.VM.Labels[vmv1alpha1.LabelImageCache]
	if !labelled {
		return nil
	}
	cache, err := r.Caches.Get(types.NamespacedName{Name: name})
	if err != nil {
		report.Wait = true
		return fmt.Errorf("reading image cache %q: %w", name, err)
	}
	if cache == nil {
		// Nothing would wake it. The provider says anew what it needs, and the cache is made.
		stopWaiting(s.VM)
		report.Wait = true
		return nil
	}
	why := conditions.Find(cache.Status.Conditions, vmv1alpha1.ConditionOVFReady)
	ready := isTrue(why)
	if place, located := provider.ParseCachePlace(s.VM.Annotations[vmv1alpha1.AnnotationImageCacheLocation]); ready && located {
		why = nil
		if at := place.In(cache); at != nil {
			why = conditions.Find(at.Conditions, vmv1alpha1.ConditionReady)
		}
		ready = isTrue(why)
	}
	// After some time of waiting the provider is asked again.
	if c := conditions.Find(s.VM.Status.Conditions, vmv1alpha1.ConditionImageCacheReady); ready ||
		c != nil && c.Status == metav1.ConditionFalse && s.Now.Sub(c.LastTransitionTime.Time) >= MaxWait {
		stopWaiting(s.VM)
		return nil
	}
	message := fmt.Sprintf("image cache %q is not ready", cache.Name)
	if why != nil && why.Status == metav1.ConditionFalse && why.Message != "" {
		message += ": " + why.Message
	}
	report.Wait = true
	report.False(vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonNotReady, message)
	return nil
}

func isTrue(c *metav1.Condition) bool { return c != nil && c.Status == metav1.ConditionTrue }

// stopWaiting removes what says which copies a virtual machine waits for.
func stopWaiting(vm *vmv1alpha1.VirtualMachine) {
	delete(vm.Labels, vmv1alpha1.LabelImageCache)
	delete(vm.Annotations, vmv1alpha1.AnnotationImageCacheLocation)
}

// Request makes sure that the copies that the provider lacks are made, and reports which the
// virtual machine waits for. The cache wakes it.
func (r *Reconciler) Request(ctx context.Context, s step.State, lacks *provider.ImageCacheNotReadyError) (report step.Report, _ error) {
	if err := r.ensureCache(ctx, lacks, s.Now); err != nil {
		report.False(vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonError, err.Error())
		return report, err
	}
	metav1.SetMetaDataLabel(&s.VM.ObjectMeta, vmv1alpha1.LabelImageCache, lacks.Name)
	metav1.SetMetaDataAnnotation(&s.VM.ObjectMeta, vmv1alpha1.AnnotationImageCacheLocation, lacks.Place().String())
	report.False(vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonNotReady, lacks.Error())
	return report, nil
}

// ensureCache creates the cache, or adds the place to it. Others do the same at the same
// time.
func (r *Reconciler) ensureCache(ctx context.Context, lacks *provider.ImageCacheNotReadyError, now time.Time) error {
	known, err := r.Caches.Get(types.NamespacedName{Name: lacks.Name})
	if err == nil && known != nil && asked(known, lacks) && !lacks.Stale {
		return nil
	}
	client := r.Client.VirtualMachineImageCaches()
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		cache, err := client.Get(ctx, lacks.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			cache, err = client.Create(ctx, &vmv1alpha1.VirtualMachineImageCache{
				ObjectMeta: metav1.ObjectMeta{Name: lacks.Name},
				Spec: vmv1alpha1.VirtualMachineImageCacheSpec{
					ContentLibrary: lacks.Source, Locations: []vmv1alpha1.VirtualMachineImageCacheLocation{lacks.Location}},
			}, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return apierrors.NewConflict(vmv1alpha1.Resource("virtualmachineimagecaches"), lacks.Name, err)
			}
		case err != nil:
		case cache.Spec.ContentLibrary != lacks.Source:
			return fmt.Errorf("it is of item %q of library %q", cache.Spec.ContentLibrary.Item, cache.Spec.ContentLibrary.Library)
		case !asked(cache, lacks):
			cache.Spec.Locations = append(cache.Spec.Locations, lacks.Location)
			cache, err = client.Update(ctx, cache, metav1.UpdateOptions{})
		case lacks.Stale:
			cache, err = r.distrust(ctx, cache, lacks, now)
		}
		if err == nil {
			r.Caches.Wrote(cache)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("asking image cache %q for copies: %w", lacks.Name, err)
	}
	return nil
}

// distrust takes back that the copies of a place are ready: its controller looks again.
func (r *Reconciler) distrust(ctx context.Context, cache *vmv1alpha1.VirtualMachineImageCache, lacks *provider.ImageCacheNotReadyError, now time.Time) (*vmv1alpha1.VirtualMachineImageCache, error) {
	at := lacks.Place().In(cache)
	if at == nil || !meta.IsStatusConditionTrue(at.Conditions, vmv1alpha1.ConditionReady) {
		return cache, nil
	}
	conditions.Set(&at.Conditions, now, metav1.Condition{
		Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonNotReady, Message: lacks.Reason})
	return r.Client.VirtualMachineImageCaches().UpdateStatus(ctx, cache, metav1.UpdateOptions{})
}

// asked reports whether the cache was asked for copies at the place, in whatever words.
func asked(cache *vmv1alpha1.VirtualMachineImageCache, lacks *provider.ImageCacheNotReadyError) bool {
	at := lacks.Place().In(cache)
	return slices.ContainsFunc(cache.Spec.Locations, func(l vmv1alpha1.VirtualMachineImageCacheLocation) bool {
		if l.VCenter == "" {
			l.VCenter = vmv1alpha1.DefaultVCenter
		}
		// A place that is only in status is one whose copies are going.
		return l == lacks.Location || at != nil && l.VCenter == at.VCenter && l.Datastore == at.Datastore && l.StoragePolicy == at.StoragePolicy
	})
}

// cacheOf is the cache of an item: of several the first by name.
func (r *Reconciler) cacheOf(item vmv1alpha1.ContentLibraryImageSource) *vmv1alpha1.VirtualMachineImageCache {
	all, err := r.Caches.ByIndex(indexByItem, itemKey(item))
	if err != nil || len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *vmv1alpha1.VirtualMachineImageCache) int { return strings.Compare(a.Name, b.Name) })
}

// PlacesReady returns what a virtual machine can wait for.
func PlacesReady(obj any) map[provider.CachePlace]bool {
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
