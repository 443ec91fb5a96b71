// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagecache decides whether a new virtual machine must wait for copies of its image, and requests them.
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

// MaxWait is the time that a virtual machine waits for copies in one location before the provider places it again. By
// then, a datastore may be full or deleted. No timer queues the virtual machine after that time: the next reconcile
// checks it.
const MaxWait = 5 * time.Minute

// indexByItem has image caches by their content library item.
const indexByItem = "item"

// Indexers has the indexes of image caches.
var Indexers = cache.Indexers{indexByItem: controller.IndexBy(func(c *vmv1alpha1.VirtualMachineImageCache) []string {
	return []string{itemKey(c.Spec.ContentLibrary)}
})}

func itemKey(of vmv1alpha1.ContentLibraryImageSource) string { return of.Library + "\x00" + of.Item }

// Reconciler uses image caches. Their informer must have Indexers.
type Reconciler struct {
	Caches controller.Store[*vmv1alpha1.VirtualMachineImageCache]
	Client vmclient.VirtualMachineImageCachesGetter
	Reader instancetype.Reader
	// Default is the mode if neither the virtual machine nor its class specifies one.
	Default vmv1alpha1.FastDeployMode
}

// Mode returns how the disks of a new virtual machine are created. The virtual machine's annotation takes precedence
// over its class, and the class over the default.
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

// modeError is returned if an annotation has an unknown mode.
type modeError struct{ message string }

func (e *modeError) Error() string { return e.message }

func fastDeployMode(whose, text string) (vmv1alpha1.FastDeployMode, error) {
	mode := vmv1alpha1.FastDeployMode(text)
	if !slices.Contains(vmv1alpha1.FastDeployModes, mode) {
		return "", &modeError{fmt.Sprintf("annotation %s of %s is %q; allowed: off, direct, linked", vmv1alpha1.AnnotationFastDeploy, whose, text)}
	}
	return mode, nil
}

// State is the input of Reconcile.
type State struct {
	step.State
	// Image is nil if there is no image.
	Image *vmv1alpha1.VirtualMachineImage
}

// Report has the mode and the image cache. If Wait is true, the provider need not be called.
type Report struct {
	step.Report
	Mode  vmv1alpha1.FastDeployMode
	Cache *vmv1alpha1.VirtualMachineImageCache
}

// Reconcile reports whether a virtual machine that is created from copies must wait for them.
func (r *Reconciler) Reconcile(ctx context.Context, s State) (Report, error) {
	var report Report
	if s.Observed.Created {
		stopWaiting(s.VM)
		return report, nil
	}
	mode, err := r.Mode(ctx, s.VM)
	if invalid, ok := err.(*modeError); ok { //nolint:errorlint // it is created above
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
	err = r.checkCopies(&report, s)
	return report, err
}

// checkCopies implements the decision in VM Operator's chart: whether the cache that the virtual machine waits for has
// the copies in the required location.
func (r *Reconciler) checkCopies(report *Report, s State) error {
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
		// No event of a deleted cache would queue the virtual machine. The provider must be called again for the
		// required copies, and then the cache is created again.
		stopWaiting(s.VM)
		report.Wait = true
		return nil
	}
	why := conditions.Find(cache.Status.Conditions, vmv1alpha1.ConditionOVFReady)
	ready := isTrue(why)
	if place, located := provider.ParseCacheLocation(s.VM.Annotations[vmv1alpha1.AnnotationImageCacheLocation]); ready && located {
		why = nil
		if at := place.StatusIn(cache); at != nil {
			why = conditions.Find(at.Conditions, vmv1alpha1.ConditionReady)
		}
		ready = isTrue(why)
	}
	// After MaxWait, the provider is called again.
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

// stopWaiting removes the label and the annotation that refer to the copies that a virtual machine waits for.
func stopWaiting(vm *vmv1alpha1.VirtualMachine) {
	delete(vm.Labels, vmv1alpha1.LabelImageCache)
	delete(vm.Annotations, vmv1alpha1.AnnotationImageCacheLocation)
}

// RequestCopies ensures that the image cache requests the copies that the provider lacks, and reports which copies the
// virtual machine waits for. An event of the cache queues the virtual machine again.
func (r *Reconciler) RequestCopies(ctx context.Context, s step.State, lacks *provider.ImageCacheNotReadyError) (report step.Report, _ error) {
	if err := r.ensureCache(ctx, lacks, s.Now); err != nil {
		report.False(vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonError, err.Error())
		return report, err
	}
	metav1.SetMetaDataLabel(&s.VM.ObjectMeta, vmv1alpha1.LabelImageCache, lacks.Name)
	metav1.SetMetaDataAnnotation(&s.VM.ObjectMeta, vmv1alpha1.AnnotationImageCacheLocation, lacks.Place().String())
	report.False(vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonNotReady, lacks.Error())
	return report, nil
}

// ensureCache creates the image cache, or adds the location to it. Other workers may do the same at the same time.
func (r *Reconciler) ensureCache(ctx context.Context, lacks *provider.ImageCacheNotReadyError, now time.Time) error {
	known, err := r.Caches.Get(types.NamespacedName{Name: lacks.Name})
	if err == nil && known != nil && isRequested(known, lacks) && !lacks.Stale {
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
			return fmt.Errorf("it belongs to item %q of library %q", cache.Spec.ContentLibrary.Item, cache.Spec.ContentLibrary.Library)
		case !isRequested(cache, lacks):
			cache.Spec.Locations = append(cache.Spec.Locations, lacks.Location)
			cache, err = client.Update(ctx, cache, metav1.UpdateOptions{})
		case lacks.Stale:
			cache, err = r.markStale(ctx, cache, lacks, now)
		}
		if err == nil {
			r.Caches.RecordWrite(cache)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("requesting copies from image cache %q: %w", lacks.Name, err)
	}
	return nil
}

// markStale sets the copies of a location to not ready, so that the image cache controller checks them again.
func (r *Reconciler) markStale(ctx context.Context, cache *vmv1alpha1.VirtualMachineImageCache, lacks *provider.ImageCacheNotReadyError, now time.Time) (*vmv1alpha1.VirtualMachineImageCache, error) {
	at := lacks.Place().StatusIn(cache)
	if at == nil || !meta.IsStatusConditionTrue(at.Conditions, vmv1alpha1.ConditionReady) {
		return cache, nil
	}
	conditions.Set(&at.Conditions, now, metav1.Condition{
		Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonNotReady, Message: lacks.Reason})
	return r.Client.VirtualMachineImageCaches().UpdateStatus(ctx, cache, metav1.UpdateOptions{})
}

// isRequested reports whether the cache already requests copies in the location, even if it is written differently.
func isRequested(cache *vmv1alpha1.VirtualMachineImageCache, lacks *provider.ImageCacheNotReadyError) bool {
	at := lacks.Place().StatusIn(cache)
	return slices.ContainsFunc(cache.Spec.Locations, func(l vmv1alpha1.VirtualMachineImageCacheLocation) bool {
		if l.VCenter == "" {
			l.VCenter = vmv1alpha1.DefaultVCenter
		}
		// A location that is only in the status is one whose copies are being deleted.
		return l == lacks.Location || at != nil && l.VCenter == at.VCenter && l.Datastore == at.Datastore && l.StoragePolicy == at.StoragePolicy
	})
}

// cacheOf returns the cache of an item. If there are several, it is the first by name.
func (r *Reconciler) cacheOf(item vmv1alpha1.ContentLibraryImageSource) *vmv1alpha1.VirtualMachineImageCache {
	all, err := r.Caches.ByIndex(indexByItem, itemKey(item))
	if err != nil || len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *vmv1alpha1.VirtualMachineImageCache) int { return strings.Compare(a.Name, b.Name) })
}

// ReadyLocations returns whether the copies in each location are ready. The empty location is the OVF descriptor.
func ReadyLocations(obj any) map[provider.CacheLocation]bool {
	c, ok := obj.(*vmv1alpha1.VirtualMachineImageCache)
	if !ok {
		return nil
	}
	out := map[provider.CacheLocation]bool{{}: meta.IsStatusConditionTrue(c.Status.Conditions, vmv1alpha1.ConditionOVFReady)}
	for i := range c.Status.Locations {
		l := &c.Status.Locations[i]
		place := provider.CacheLocation{VCenter: l.VCenter, DatastoreID: l.DatastoreID, ProfileID: l.ProfileID}
		out[place] = meta.IsStatusConditionTrue(l.Conditions, vmv1alpha1.ConditionReady)
	}
	return out
}
