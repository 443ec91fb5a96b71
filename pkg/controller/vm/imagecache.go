// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

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
	"k8s.io/client-go/util/retry"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// askAnew is how long a virtual machine waits for one place before the provider is asked
// again where it goes: a datastore may be full or gone by then. Nothing wakes it for that
// but what wakes it anyhow.
const askAnew = 5 * time.Minute

// fastDeploy is how the disks of a new virtual machine are made: as the virtual machine says,
// or else its class, or else the server.
func (r *reconciler) fastDeploy(ctx context.Context, vm *vmv1alpha1.VirtualMachine) (vmv1alpha1.FastDeployMode, error) {
	if mode, ok := vm.Annotations[vmv1alpha1.AnnotationFastDeploy]; ok {
		return fastDeployMode("the virtual machine", mode)
	}
	if vm.Spec.ClassName != "" {
		class, err := r.reader.Class(ctx, vm.Namespace, vm.Spec.ClassName)
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("reading class %q: %w", vm.Spec.ClassName, err)
		}
		if err == nil {
			if mode, ok := class.Annotations[vmv1alpha1.AnnotationFastDeploy]; ok {
				return fastDeployMode("class "+vm.Spec.ClassName, mode)
			}
		}
	}
	return r.fastDeployDefault, nil
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

// copies is what a pass knows of the copies of an image.
type copies struct {
	mode  vmv1alpha1.FastDeployMode
	cache *vmv1alpha1.VirtualMachineImageCache
	// wait is true while the provider need not be called.
	wait bool
}

// awaitCopies says whether a virtual machine that is made of copies has to wait for them.
func (r *reconciler) awaitCopies(ctx context.Context, p *pass, image *vmv1alpha1.VirtualMachineImage) (copies, error) {
	if isTrue(p.VM, vmv1alpha1.ConditionCreated) {
		stopWaiting(p.VM)
		return copies{}, nil
	}
	mode, err := r.fastDeploy(ctx, p.VM)
	if invalid, ok := err.(*modeError); ok { //nolint:errorlint // it is made above
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonInvalid, invalid.message)
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+vmv1alpha1.ConditionImageCacheReady)
		return copies{wait: true}, nil
	}
	if err != nil {
		return copies{}, err
	}
	if mode == vmv1alpha1.FastDeployOff || image == nil || image.Spec.ContentLibrary == nil {
		stopWaiting(p.VM)
		if image != nil {
			meta.RemoveStatusCondition(&p.VM.Status.Conditions, vmv1alpha1.ConditionImageCacheReady)
		}
		return copies{}, nil
	}
	ready, err := r.imageCacheReady(p)
	return copies{mode: mode, cache: r.cacheOf(*image.Spec.ContentLibrary), wait: !ready}, err
}

// imageCacheReady is the decision of VM Operator's chart: whether the cache that the virtual
// machine waits for, if any, has the copies where it needs them.
func (r *reconciler) imageCacheReady(p *pass) (bool, error) {
	name, labelled := p.VM.Labels[vmv1alpha1.LabelImageCache]
	if !labelled {
		return true, nil
	}
	cache, err := r.caches.Get(types.NamespacedName{Name: name})
	if err != nil {
		return false, fmt.Errorf("reading image cache %q: %w", name, err)
	}
	if cache == nil {
		// Nothing would wake it. The provider says anew what it needs, and the cache is made.
		stopWaiting(p.VM)
		return false, nil
	}
	if !meta.IsStatusConditionTrue(cache.Status.Conditions, vmv1alpha1.ConditionOVFReady) {
		return r.notCached(p, cache, conditions.Find(cache.Status.Conditions, vmv1alpha1.ConditionOVFReady)), nil
	}
	place, located := provider.ParseCachePlace(p.VM.Annotations[vmv1alpha1.AnnotationImageCacheLocation])
	if !located {
		stopWaiting(p.VM)
		return true, nil
	}
	at := place.In(cache)
	if at == nil || !meta.IsStatusConditionTrue(at.Conditions, vmv1alpha1.ConditionReady) {
		var why *metav1.Condition
		if at != nil {
			why = conditions.Find(at.Conditions, vmv1alpha1.ConditionReady)
		}
		return r.notCached(p, cache, why), nil
	}
	stopWaiting(p.VM)
	return true, nil
}

// notCached says what the virtual machine waits for. It is true when it has waited for so
// long that the provider is to be asked again.
func (r *reconciler) notCached(p *pass, cache *vmv1alpha1.VirtualMachineImageCache, why *metav1.Condition) bool {
	if c := findCondition(p.VM, vmv1alpha1.ConditionImageCacheReady); c != nil && c.Status == metav1.ConditionFalse && p.Now.Sub(c.LastTransitionTime.Time) >= askAnew {
		stopWaiting(p.VM)
		return true
	}
	message := fmt.Sprintf("image cache %q is not ready", cache.Name)
	if why != nil && why.Status == metav1.ConditionFalse && why.Message != "" {
		message += ": " + why.Message
	}
	setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonNotReady, message)
	return false
}

// stopWaiting removes what says which copies a virtual machine waits for.
func stopWaiting(vm *vmv1alpha1.VirtualMachine) {
	delete(vm.Labels, vmv1alpha1.LabelImageCache)
	delete(vm.Annotations, vmv1alpha1.AnnotationImageCacheLocation)
}

// waitFor makes sure that the copies that the provider lacks are made, and says which the
// virtual machine waits for. The cache wakes it.
func (r *reconciler) waitFor(ctx context.Context, p *pass, lacks *provider.ImageCacheNotReadyError) error {
	if err := r.ensureCache(ctx, lacks); err != nil {
		setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonError, err.Error())
		return err
	}
	metav1.SetMetaDataLabel(&p.VM.ObjectMeta, vmv1alpha1.LabelImageCache, lacks.Name)
	metav1.SetMetaDataAnnotation(&p.VM.ObjectMeta, vmv1alpha1.AnnotationImageCacheLocation, lacks.Place().String())
	setFalse(p.VM, p.Now, vmv1alpha1.ConditionImageCacheReady, vmv1alpha1.ReasonNotReady, lacks.Error())
	return nil
}

// ensureCache creates the cache, or adds the place to it. Others do the same at the same
// time.
func (r *reconciler) ensureCache(ctx context.Context, lacks *provider.ImageCacheNotReadyError) error {
	known, err := r.caches.Get(types.NamespacedName{Name: lacks.Name})
	if err == nil && known != nil && asked(known, lacks) && !lacks.Stale {
		return nil
	}
	client := r.client.VirtualMachineImageCaches()
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
			cache, err = r.distrust(ctx, cache, lacks)
		}
		if err == nil {
			r.caches.Wrote(cache)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("asking image cache %q for copies: %w", lacks.Name, err)
	}
	return nil
}

// distrust takes back that the copies of a place are ready: its controller looks again.
func (r *reconciler) distrust(ctx context.Context, cache *vmv1alpha1.VirtualMachineImageCache, lacks *provider.ImageCacheNotReadyError) (*vmv1alpha1.VirtualMachineImageCache, error) {
	at := lacks.Place().In(cache)
	if at == nil || !meta.IsStatusConditionTrue(at.Conditions, vmv1alpha1.ConditionReady) {
		return cache, nil
	}
	conditions.Set(&at.Conditions, r.now(), metav1.Condition{
		Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: vmv1alpha1.ReasonNotReady, Message: lacks.Reason})
	return r.client.VirtualMachineImageCaches().UpdateStatus(ctx, cache, metav1.UpdateOptions{})
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
func (r *reconciler) cacheOf(item vmv1alpha1.ContentLibraryImageSource) *vmv1alpha1.VirtualMachineImageCache {
	all, err := r.cachesOf(cacheKey(item))
	if err != nil || len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b *vmv1alpha1.VirtualMachineImageCache) int { return strings.Compare(a.Name, b.Name) })
}

// cacheKey is the index value of an item.
func cacheKey(of vmv1alpha1.ContentLibraryImageSource) string { return of.Library + "\x00" + of.Item }
