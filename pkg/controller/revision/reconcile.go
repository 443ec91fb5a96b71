// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	itlisters "github.com/slipway-dev/slipway/pkg/generated/listers/instancetype/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// reconciler reconciles revisions.
type reconciler struct {
	client    versioned.Interface
	revisions itlisters.ControllerRevisionLister
	// users has the indexers with indexByRevision.
	users []cache.Indexer
}

// Reconcile deletes a revision that no object needs.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	revision, err := r.revisions.ControllerRevisions(key.Namespace).Get(key.Name)
	if apierrors.IsNotFound(err) || err == nil && revision.DeletionTimestamp != nil {
		return controller.Result{}, nil
	}
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading revision %s: %w", key, err)
	}
	for _, users := range r.users {
		by, err := users.IndexKeys(indexByRevision, key.String())
		if err != nil {
			return controller.Result{}, fmt.Errorf("listing the users of revision %s: %w", key, err)
		}
		if len(by) > 0 {
			return controller.Result{}, nil // a change of the user enqueues the revision again
		}
	}
	if wait := recoveryDelay(revision, time.Now()); wait > 0 {
		return controller.Result{RequeueAfter: wait}, nil
	}
	marked, err := r.mark(ctx, revision)
	if err != nil {
		return resultOf(err)
	}
	reason, err := r.neededBecause(ctx, marked)
	if err != nil {
		return controller.Result{}, err
	}
	if reason != "" {
		klog.FromContext(ctx).V(2).Info("An unreferenced revision is kept", "reason", reason)
		return controller.Result{RequeueAfter: controller.DefaultResyncPeriod}, nil
	}
	return resultOf(r.delete(ctx, marked))
}

// recoveryTime is how long a recovered revision is kept for the VMs that are recovered after it. A user may have to repeat the
// recovery.
const recoveryTime = time.Hour

// recoveryDelay returns how long a recovered revision is kept at least.
func recoveryDelay(revision *itv1alpha1.ControllerRevision, now time.Time) time.Duration {
	if _, recovered := revision.Annotations[itv1alpha1.AnnotationRecovered]; !recovered {
		return 0
	}
	return revision.CreationTimestamp.Add(recoveryTime).Sub(now)
}

// mark adds an annotation, so that a controller that pins the same object knows that the revision is about to be deleted.
func (r *reconciler) mark(ctx context.Context, revision *itv1alpha1.ControllerRevision) (*itv1alpha1.ControllerRevision, error) {
	if _, marked := revision.Annotations[itv1alpha1.AnnotationCollecting]; marked {
		return revision, nil
	}
	next := revision.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, itv1alpha1.AnnotationCollecting, "true")
	marked, err := r.client.InstancetypeV1alpha1().ControllerRevisions(next.Namespace).Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("marking revision %s: %w", controller.KeyOf(revision), err)
	}
	return marked, nil
}

// neededBecause returns why the marked revision must be kept, by the current objects of the API. It is empty if the revision is
// not needed.
func (r *reconciler) neededBecause(ctx context.Context, revision *itv1alpha1.ControllerRevision) (string, error) {
	vms, err := r.client.VmV1alpha1().VirtualMachines(revision.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the virtual machines that may need revision %s: %w", controller.KeyOf(revision), err)
	}
	vmis, err := r.client.VmV1alpha1().VirtualMachineInstances(revision.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the virtual machine instances that may need revision %s: %w", controller.KeyOf(revision), err)
	}
	snapshots, err := r.client.VmV1alpha1().VirtualMachineSnapshots(revision.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the snapshots that may need revision %s: %w", controller.KeyOf(revision), err)
	}
	templates, err := r.client.VmV1alpha1().VirtualMachineTemplates(revision.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the templates that may pin revision %s: %w", controller.KeyOf(revision), err)
	}
	all, err := r.client.InstancetypeV1alpha1().ControllerRevisions(revision.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", fmt.Errorf("reading the revisions next to %s: %w", controller.KeyOf(revision), err)
	}
	users := instancetype.Users{VirtualMachines: vms.Items, Instances: vmis.Items, Snapshots: snapshots.Items, Templates: templates.Items}
	return instancetype.ReasonToKeep(revision, users, all.Items), nil
}

// delete deletes the revision if it is unchanged since the mark.
func (r *reconciler) delete(ctx context.Context, marked *itv1alpha1.ControllerRevision) error {
	err := r.client.InstancetypeV1alpha1().ControllerRevisions(marked.Namespace).Delete(ctx, marked.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &marked.UID, ResourceVersion: &marked.ResourceVersion},
	})
	if err != nil {
		return fmt.Errorf("deleting revision %s: %w", controller.KeyOf(marked), err)
	}
	klog.FromContext(ctx).V(2).Info("Deleted an unused revision")
	return nil
}

// resultOf returns the result for an error of a write. After a conflict, the revision is checked again later: most likely it is
// in use again.
func resultOf(err error) (controller.Result, error) {
	switch {
	case apierrors.IsNotFound(err):
		return controller.Result{}, nil
	case apierrors.IsConflict(err):
		return controller.Result{RequeueAfter: controller.DefaultResyncPeriod}, nil
	}
	return controller.Result{}, err
}
