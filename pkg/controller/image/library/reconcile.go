// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package library

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// readTimeout is the time limit for listing a library, which takes one call for each item.
const readTimeout = 5 * time.Minute

// libraries lists the items of content libraries.
type libraries interface {
	Items(ctx context.Context, library string) ([]provider.LibraryItem, error)
}

// reconciler reconciles ContentLibraries.
type reconciler struct {
	client    vmclient.VmV1alpha1Interface
	libraries controller.Store[*vmv1alpha1.ContentLibrary]
	images    vmlisters.VirtualMachineImageLister
	cluster   vmlisters.ClusterVirtualMachineImageLister
	machines  vmlisters.VirtualMachineLister
	// machinesSynced reports whether machines has all virtual machines.
	machinesSynced cache.InformerSynced
	vsphere        libraries
	shard          controller.Shard
	now            func() time.Time
}

// Reconcile creates, labels and deletes images so that they match the items of one ContentLibrary.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	bound, err := r.shard.Bind(ctx, "")
	if err != nil {
		return controller.Result{RequeueAfter: controller.Soon}, ctx.Err()
	}
	ctx = bound
	library, err := r.libraries.Get(key)
	switch {
	case err != nil:
		return controller.Result{}, fmt.Errorf("reading ContentLibrary %s: %w", key.Name, err)
	case library == nil:
		return controller.Result{}, nil
	case !r.machinesSynced():
		return controller.Result{RequeueAfter: controller.Soon}, nil // it is not yet known which images are in use
	case library.DeletionTimestamp != nil:
		return r.remove(ctx, library)
	}
	if library, err = controller.AddFinalizer(ctx, r.libraries, r.client.ContentLibraries(), library, vmv1alpha1.ContentLibraryFinalizer); err != nil {
		return controller.RequeueOnConflict(err)
	}
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	items, err := r.vsphere.Items(reading, library.Spec.Library)
	var unread *provider.PartialResultError
	switch {
	case ctx.Err() != nil:
		return controller.Result{}, nil
	case errors.Is(err, provider.ErrNotInUse):
		return controller.Result{RequeueAfter: controller.Soon}, nil // this is not a fault of the library
	case errors.As(err, &unread) && unread.HasResults:
		return r.publish(ctx, library, items, unread.VCenters)
	case err != nil:
		c, next := provider.Unusable(err), library.DeepCopy()
		r.set(next, c)
		if written := r.libraries.UpdateStatus(ctx, r.client.ContentLibraries(), next); written != nil {
			return controller.RequeueOnConflict(written)
		}
		if c.Status == metav1.ConditionUnknown {
			return controller.Result{}, fmt.Errorf("listing the items of ContentLibrary %s: %w", library.Name, err)
		}
		return controller.Result{RequeueAfter: controller.Poll}, nil
	}
	return r.publish(ctx, library, items, nil)
}

// publish executes the plan and writes status. The vCenters in unread may have more items than the given ones; images of
// such items are not deleted.
func (r *reconciler) publish(ctx context.Context, library *vmv1alpha1.ContentLibrary, items []provider.LibraryItem, unread []string) (controller.Result, error) {
	images, err := r.existingImages(library)
	if err != nil {
		return controller.Result{}, err
	}
	p := makePlan(planInput{library: library, items: items, images: images, used: r.usedImages(library)})
	message := ""
	if len(unread) > 0 {
		p.keepAll()
		message = "the items of VCenter " + strings.Join(unread, ", ") + " could not be read (see its status); their images are not changed"
	}
	next := library.DeepCopy()
	p.status.Conditions = next.Status.Conditions
	next.Status = p.status
	failed := r.applyPlan(ctx, library, p)
	again := controller.Result{RequeueAfter: controller.Poll} // vCenter sends no events for new items.
	switch {
	case failed == nil:
		r.set(next, metav1.Condition{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: vmv1alpha1.ReasonSucceeded, Message: conditions.Message(message)})
	case apierrors.IsConflict(failed), apierrors.IsAlreadyExists(failed):
		return controller.Result{RequeueAfter: controller.Soon}, nil
	default:
		reason := vmv1alpha1.ReasonError
		if apierrors.IsNotFound(failed) { // the namespace
			reason, again.RequeueAfter = vmv1alpha1.ReasonNotFound, controller.Recheck
		}
		r.set(next, metav1.Condition{Type: vmv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: failed.Error()})
	}
	if err := r.libraries.UpdateStatus(ctx, r.client.ContentLibraries(), next); err != nil {
		return controller.RequeueOnConflict(err)
	}
	if failed != nil && !apierrors.IsNotFound(failed) {
		return controller.Result{}, failed
	}
	return again, nil
}

// applyPlan writes the images of a plan. It continues after an error and returns the first one.
func (r *reconciler) applyPlan(ctx context.Context, library *vmv1alpha1.ContentLibrary, p plan) (first error) {
	w := writer{r.client}
	recordError := func(image *vmv1alpha1.VirtualMachineImage, doing string, err error) {
		if err != nil && first == nil {
			first = fmt.Errorf("%s image %s of ContentLibrary %s: %w", doing, image.Name, library.Name, err)
		}
	}
	for _, image := range p.create {
		recordError(image, "creating", w.create(ctx, image))
	}
	for _, image := range p.update {
		recordError(image, "labelling", w.update(ctx, image))
	}
	for _, image := range p.delete {
		if err := w.delete(ctx, image); !apierrors.IsNotFound(err) {
			recordError(image, "deleting", err)
		}
	}
	return first
}

// remove deletes the images that no virtual machine refers to and removes the label of the library from the others. Then
// it removes the finalizer of the ContentLibrary.
func (r *reconciler) remove(ctx context.Context, library *vmv1alpha1.ContentLibrary) (controller.Result, error) {
	images, err := r.existingImages(library)
	if err != nil {
		return controller.Result{}, err
	}
	p := plan{}
	used := r.usedImages(library)
	for _, image := range images {
		switch {
		case image.Labels[vmv1alpha1.LabelContentLibrary] != library.Name:
		case used(image.Name):
			next := image.DeepCopy()
			delete(next.Labels, vmv1alpha1.LabelContentLibrary)
			p.update = append(p.update, next)
		default:
			p.delete = append(p.delete, image)
		}
	}
	if len(p.update)+len(p.delete) > 0 {
		if err := r.applyPlan(ctx, library, p); err != nil {
			return controller.RequeueOnConflict(err)
		}
		return controller.Result{RequeueAfter: controller.Soon}, nil // to check that no image is left
	}
	return controller.RemoveFinalizer(ctx, r.libraries, r.client.ContentLibraries(), library, vmv1alpha1.ContentLibraryFinalizer)
}

// existingImages returns all images of the library's kind and namespace, by name.
func (r *reconciler) existingImages(library *vmv1alpha1.ContentLibrary) (map[string]*vmv1alpha1.VirtualMachineImage, error) {
	images := map[string]*vmv1alpha1.VirtualMachineImage{}
	if ns := library.Spec.Namespace; ns != "" {
		all, err := r.images.VirtualMachineImages(ns).List(labels.Everything())
		for _, image := range all {
			images[image.Name] = image
		}
		return images, err
	}
	all, err := r.cluster.List(labels.Everything())
	for _, image := range all {
		images[image.Name] = image.AsImage()
	}
	return images, err
}

// usedImages returns a function that reports whether a virtual machine refers to an image as its source or in a CD-ROM
// drive. Virtual machines are listed at its first call.
func (r *reconciler) usedImages(library *vmv1alpha1.ContentLibrary) func(image string) bool {
	var used map[string]bool
	return func(image string) bool {
		if used != nil {
			return used[image]
		}
		used = map[string]bool{}
		kind := vmv1alpha1.ImageKind
		if library.Spec.Namespace == "" {
			kind = vmv1alpha1.ClusterImageKind
		}
		all, err := r.machines.VirtualMachines(library.Spec.Namespace).List(labels.Everything())
		if err != nil {
			used = nil
			return true // it is not known which images are in use
		}
		mark := func(ref *vmv1alpha1.VirtualMachineImageRef) {
			if ref != nil && ref.Kind == kind {
				used[ref.Name] = true
			}
		}
		for _, vm := range all {
			mark(vm.Spec.Image)
			for i := range vm.Spec.Volumes {
				if drive := vm.Spec.Volumes[i].CDROM; drive != nil {
					mark(drive.Image)
				}
			}
		}
		return used[image]
	}
}

// set sets a condition of a library and its observed generation.
func (r *reconciler) set(library *vmv1alpha1.ContentLibrary, c metav1.Condition) {
	library.Status.ObservedGeneration, c.ObservedGeneration = library.Generation, library.Generation
	conditions.Set(&library.Status.Conditions, r.now(), c)
}
