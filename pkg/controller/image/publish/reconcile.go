// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// reconciler reconciles publish requests.
type reconciler struct {
	client        vmclient.VmV1alpha1Interface
	requests      controller.Store[*request]
	machines      vmlisters.VirtualMachineLister
	libraries     vmlisters.ContentLibraryLister
	images        vmlisters.VirtualMachineImageLister
	clusterImages vmlisters.ClusterVirtualMachineImageLister
	provider      provider.Publisher
	labels        func(namespace string) map[string]string
	recorder      events.EventRecorder
	shard         controller.Shard
	now           func() time.Time
}

// reconciliation is one reconcile of a request.
type reconciliation struct {
	*reconciler
	// request is the object that is written. vm and library are nil if they do not exist.
	request *request
	vm      *vmv1alpha1.VirtualMachine
	library *vmv1alpha1.ContentLibrary
	result  controller.Result
}

// Reconcile takes the next step of a request.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	stored, err := r.requests.Get(key)
	if err != nil || stored == nil {
		return controller.Result{}, err
	}
	p := &reconciliation{reconciler: r, request: stored.DeepCopy()}
	if p.vm, err = r.machines.VirtualMachines(key.Namespace).Get(stored.SourceName()); err != nil {
		p.vm = nil
	}
	if p.library, err = r.libraries.Get(stored.Spec.Target.ContentLibrary); err != nil {
		p.library = nil
	}
	bound, err := r.shard.Bind(ctx, p.vcenter())
	if err != nil {
		return controller.Result{}, ctx.Err() // another replica owns the vCenter
	}
	ctx = bound
	switch {
	case stored.DeletionTimestamp != nil:
		return p.remove(ctx)
	case stored.Status.CompletionTime != nil:
		return p.expire(ctx)
	}
	if stored, err = controller.AddFinalizer(ctx, r.requests, r.client.VirtualMachinePublishRequests(key.Namespace), stored, vmv1alpha1.PublishRequestFinalizer); err != nil {
		return controller.RequeueOnConflict(err)
	}
	p.request = stored.DeepCopy()
	failed := p.advance(ctx)
	p.summarize()
	conditions.KeepTimes(stored.Status.Conditions, p.request.Status.Conditions)
	if err := p.persist(ctx); err != nil {
		return controller.RequeueOnConflict(err)
	}
	r.emit(stored, p.request)
	return p.result, failed
}

// persist writes the status.
func (p *reconciliation) persist(ctx context.Context) error {
	p.request.Status.ObservedGeneration = p.request.Generation
	return p.requests.UpdateStatus(ctx, p.client.VirtualMachinePublishRequests(p.request.Namespace), p.request)
}

// vcenter returns the name of the library's VCenter, or the default if the library does not exist.
func (p *reconciliation) vcenter() string {
	if p.library == nil {
		return vmv1alpha1.DefaultVCenter
	}
	return cmp.Or(p.library.Spec.VCenter, vmv1alpha1.DefaultVCenter)
}

// publication returns the parameters for the provider.
func (p *reconciliation) publication() *provider.Publication {
	out := &provider.Publication{
		NamespacedName: controller.KeyOf(p.request), UID: p.request.UID,
		Source: types.NamespacedName{Namespace: p.request.Namespace, Name: p.request.SourceName()}, VM: p.vm,
		VCenter: p.vcenter(), Item: p.request.ItemName(), Description: p.request.Spec.Target.Description, Now: p.now(),
	}
	if p.library != nil {
		out.Library = p.library.Spec.Library
	}
	return out
}

// advance takes the next step. After an error, the request is retried with a growing delay.
func (p *reconciliation) advance(ctx context.Context) error {
	if p.request.Status.ItemID == "" {
		if source, target := p.checkSource(), p.checkTarget(); !source || !target {
			missing := vmv1alpha1.ConditionTargetValid
			if !source {
				missing = vmv1alpha1.ConditionSourceValid
			}
			p.setWaiting(vmv1alpha1.ConditionUploaded, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+missing)
			return nil
		}
		if p.request.Status.Attempts == 0 {
			now := metav1.NewTime(p.now().Truncate(time.Second))
			p.request.Status.Attempts, p.request.Status.StartTime = 1, &now
			p.setWaiting(vmv1alpha1.ConditionUploaded, vmv1alpha1.ReasonPublishing, "")
			p.result.Requeue = true // a deletion now knows that an item may exist
			return nil
		}
		item, err := p.provider.Publish(ctx, p.publication())
		if err != nil {
			return p.handlePublishError(err)
		}
		p.request.Status.ItemID, p.request.Status.ContentVersion = item.ItemID, item.Version
		p.setTrue(vmv1alpha1.ConditionUploaded)
	}
	if p.checkImage() {
		now := metav1.NewTime(p.now().Truncate(time.Second))
		p.request.Status.CompletionTime = &now
		p.setTrue(vmv1alpha1.ConditionComplete)
		p.result.Requeue = true // for the time to live
		p.provider.ForgetPublication(controller.KeyOf(p.request))
	}
	return nil
}

// permanentReasons are those of a request that is not published before a user changes an object.
var permanentReasons = []string{vmv1alpha1.ReasonInvalid, vmv1alpha1.ReasonNotAllowed, vmv1alpha1.ReasonNameTaken}

// summarize sets Stalled if a user must change an object, else Reconciling unless the request is complete.
func (p *reconciliation) summarize() {
	find := func(kind string) *metav1.Condition { return conditions.Find(p.request.Status.Conditions, kind) }
	var stalled, reconciling *metav1.Condition
	for _, kind := range []string{vmv1alpha1.ConditionTargetValid, vmv1alpha1.ConditionSourceValid} {
		if c := find(kind); c != nil && c.Status == metav1.ConditionFalse && slices.Contains(permanentReasons, c.Reason) {
			stalled = c
		}
	}
	if c := find(vmv1alpha1.ConditionComplete); c != nil && c.Status != metav1.ConditionTrue && stalled == nil {
		reconciling = c
	}
	conditions.SetBecause(&p.request.Status.Conditions, p.now(), vmv1alpha1.ConditionStalled, p.request.Generation, stalled)
	conditions.SetBecause(&p.request.Status.Conditions, p.now(), vmv1alpha1.ConditionReconciling, p.request.Generation, reconciling)
}

// handlePublishError sets the conditions for an error of Publish and the delay of the next reconcile.
func (p *reconciliation) handlePublishError(err error) error {
	if after, ok := provider.AsRequeue(err); ok {
		p.result.RequeueAfter = max(after, controller.Soon)
	}
	uploaded := func(reason, message string) error {
		before := conditions.Find(p.request.Status.Conditions, vmv1alpha1.ConditionUploaded)
		if reason == vmv1alpha1.ReasonPublishing && before != nil && before.Reason == vmv1alpha1.ReasonError {
			p.request.Status.Attempts++
		}
		p.setWaiting(vmv1alpha1.ConditionUploaded, reason, message)
		return nil
	}
	var refused *provider.PublishRefusedError
	switch {
	case errors.As(err, &refused):
		p.set(refused.Condition, metav1.ConditionFalse, refused.Reason, refused.Message)
		if p.result.RequeueAfter == 0 && refused.Condition == vmv1alpha1.ConditionTargetValid {
			p.result.RequeueAfter = controller.Poll
		}
		return uploaded(vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+refused.Condition)
	case errors.Is(err, provider.ErrReconcileInProgress):
		return uploaded(vmv1alpha1.ReasonPublishing, "")
	case errors.Is(err, provider.ErrSourceBusy):
		return uploaded(vmv1alpha1.ReasonSourceBusy, err.Error())
	case errors.Is(err, provider.ErrTooManyOperations):
		return uploaded(vmv1alpha1.ReasonTooManyOperations, "waiting for a free publishing slot")
	case errors.Is(err, provider.ErrNotInUse), errors.Is(err, provider.ErrUnknownState):
		p.result.RequeueAfter = max(p.result.RequeueAfter, controller.Recheck)
		p.set(vmv1alpha1.ConditionUploaded, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState, "the state in vSphere is not known: "+err.Error())
		p.set(vmv1alpha1.ConditionComplete, metav1.ConditionFalse, vmv1alpha1.ReasonUnknownState, "")
		return nil
	case p.result.RequeueAfter > 0:
		return uploaded(vmv1alpha1.ReasonError, err.Error())
	}
	_ = uploaded(vmv1alpha1.ReasonError, err.Error())
	return fmt.Errorf("publishing VirtualMachine %s/%s: %w", p.request.Namespace, p.request.SourceName(), err)
}

// expire deletes a complete request when ttlSecondsAfterFinished has passed. The field can change until then.
func (p *reconciliation) expire(ctx context.Context) (controller.Result, error) {
	var rest time.Duration
	ttl := p.request.Spec.TTLSecondsAfterFinished
	if ttl != nil {
		rest = p.request.Status.CompletionTime.Add(time.Duration(*ttl) * time.Second).Sub(p.now())
	}
	if ttl == nil || rest > 0 {
		if err := p.persist(ctx); err != nil {
			return controller.RequeueOnConflict(err)
		}
		return controller.Result{RequeueAfter: rest}, nil
	}
	err := p.client.VirtualMachinePublishRequests(p.request.Namespace).Delete(ctx, p.request.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.request.UID, ResourceVersion: &p.request.ResourceVersion}})
	if err != nil {
		err = fmt.Errorf("deleting VirtualMachinePublishRequest %s, which is complete: %w", controller.KeyOf(p.request), err)
	}
	return controller.RequeueOnConflict(err)
}

// remove removes the finalizer when no operation runs for the request and no incomplete item is left.
func (p *reconciliation) remove(ctx context.Context) (controller.Result, error) {
	kept := slices.Contains(p.request.Finalizers, vmv1alpha1.PublishRequestFinalizer)
	if kept && p.request.Status.Attempts > 0 && p.request.Status.ItemID == "" {
		if err := p.provider.Withdraw(ctx, p.publication()); err != nil {
			return p.setDeleting(ctx, err)
		}
	}
	return controller.RemoveFinalizer(ctx, p.requests, p.client.VirtualMachinePublishRequests(p.request.Namespace), p.request, vmv1alpha1.PublishRequestFinalizer)
}

// setDeleting sets the Deleting condition with the reason why the finalizer is not removed.
func (p *reconciliation) setDeleting(ctx context.Context, err error) (controller.Result, error) {
	after, again := provider.AsRequeue(err)
	switch {
	case errors.Is(err, provider.ErrReconcileInProgress):
		p.set(vmv1alpha1.ConditionDeleting, metav1.ConditionTrue, vmv1alpha1.ReasonPublishing, "the running operation is being cancelled")
	case errors.Is(err, provider.ErrNotInUse):
		after, again = controller.Recheck, true
		p.set(vmv1alpha1.ConditionDeleting, metav1.ConditionTrue, vmv1alpha1.ReasonUnknownState, err.Error())
	default:
		p.set(vmv1alpha1.ConditionDeleting, metav1.ConditionTrue, vmv1alpha1.ReasonError, err.Error())
	}
	written := p.persist(ctx)
	switch {
	case written != nil && !apierrors.IsNotFound(written):
		return controller.RequeueOnConflict(written)
	case errors.Is(err, provider.ErrReconcileInProgress):
		return controller.Result{}, nil
	case again:
		return controller.Result{RequeueAfter: max(after, controller.Soon)}, nil
	}
	return controller.Result{}, fmt.Errorf("removing the incomplete item of %s: %w", controller.KeyOf(p.request), err)
}
