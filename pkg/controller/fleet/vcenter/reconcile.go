// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

const (
	// observeInterval is how often a vCenter is observed. No event reports its state, which users read in status.
	observeInterval = 15 * time.Second
	// observeTimeout is the time limit for one observation, so that a vCenter that does not answer does not delay changes of its
	// object.
	observeTimeout = 10 * time.Second
)

// reconciler reconciles VCenters.
type reconciler struct {
	client   vmclient.VCenterInterface
	vcenters controller.Store[*vmv1alpha1.VCenter]
	manager  VCenters
	now      func() time.Time
}

// Reconcile connects to a vCenter as its object describes, and writes its observed state.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	vc, err := r.vcenters.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading VCenter %s: %w", key.Name, err)
	}
	if vc == nil && key.Name != vmv1alpha1.DefaultVCenter {
		return controller.Result{}, r.manager.Leave(ctx, key.Name)
	}
	bound, err := r.manager.Bind(ctx, key.Name)
	if err != nil {
		return controller.Result{}, ctx.Err() // another replica manages it
	}
	ctx = bound
	switch {
	case vc == nil || vc.DeletionTimestamp != nil && !slices.Contains(vc.Finalizers, vmv1alpha1.VCenterFinalizer):
		return r.useFlags(ctx, key.Name)
	case vc.DeletionTimestamp != nil:
		return r.remove(ctx, vc)
	}
	if vc, err = controller.AddFinalizer(ctx, r.vcenters, r.client, vc, vmv1alpha1.VCenterFinalizer); err != nil {
		return controller.RequeueOnConflict(err)
	}
	return r.observe(ctx, vc, r.manager.Use(ctx, key.Name, vc))
}

// useFlags uses the vCenter that the flags describe, or none. The vCenter of flags is observed too, because its
// virtual machines report an outage.
func (r *reconciler) useFlags(ctx context.Context, name string) (controller.Result, error) {
	err := r.manager.Use(ctx, name, nil)
	if err != nil || !r.manager.Described(name) {
		return controller.Result{}, err
	}
	observing, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	r.manager.Observe(observing, name)
	return controller.Result{RequeueAfter: observeInterval}, nil
}

// remove removes the finalizer of a VCenter that has no VMs and zones, or whose successor the flags describe.
func (r *reconciler) remove(ctx context.Context, vc *vmv1alpha1.VCenter) (controller.Result, error) {
	if !r.manager.Described(vc.Name) {
		what, err := r.manager.InUse(vc.Name)
		if err != nil || what != "" {
			if err == nil {
				err = fmt.Errorf("waiting for the deletion of %s", what)
			}
			next := vc.DeepCopy()
			r.set(&next.Status, next.Generation, vmv1alpha1.ConditionDeleting, metav1.ConditionTrue, vmv1alpha1.ReasonInUse, err.Error())
			return r.observe(ctx, next, r.manager.Use(ctx, vc.Name, vc))
		}
	}
	if err := r.manager.Use(ctx, vc.Name, nil); err != nil {
		return controller.Result{}, err
	}
	return controller.RemoveFinalizer(ctx, r.vcenters, r.client, vc, vmv1alpha1.VCenterFinalizer)
}

// observe writes the observed state of a vCenter if it has changed. invalid is the error of its description, or nil.
func (r *reconciler) observe(ctx context.Context, vc *vmv1alpha1.VCenter, invalid error) (controller.Result, error) {
	observing, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	o := Observation{Connected: invalid, Ready: invalid, Reason: vmv1alpha1.ReasonInvalid}
	if invalid == nil {
		o = r.manager.Observe(observing, vc.Name)
	}
	if ctx.Err() != nil {
		return controller.Result{}, nil // it was not observed
	}
	next := vc.DeepCopy()
	st := &next.Status
	installation := st.InstanceUUID
	*st = o.Status
	st.Conditions, st.ObservedGeneration = slices.Clone(vc.Status.Conditions), vc.Generation
	if installation != "" {
		st.InstanceUUID = installation
	}
	r.report(st, vc.Generation, vmv1alpha1.ConditionConnected, o.Connected, o.Reason)
	if o.Connected == nil && o.Skew != "" {
		r.set(st, vc.Generation, vmv1alpha1.ConditionConnected, metav1.ConditionTrue, vmv1alpha1.ReasonClockSkew, o.Skew)
	}
	r.report(st, vc.Generation, vmv1alpha1.ConditionReady, o.Ready, reasonNotReady(o))
	again := controller.Result{RequeueAfter: controller.ObserveDelay(st.Conditions, vmv1alpha1.ConditionReady, vmv1alpha1.ConditionDeleting, r.now(), observeInterval)}
	if err := r.vcenters.UpdateStatus(ctx, r.client, next); err != nil {
		return controller.RequeueOnConflict(err)
	}
	return again, nil
}

// reasonNotReady returns the reason of Ready of a VCenter that is not ready.
func reasonNotReady(o Observation) string {
	if o.Connected != nil {
		return o.Reason
	}
	return vmv1alpha1.ReasonNotReady
}

// report sets a condition to False if there is an error, else to True.
func (r *reconciler) report(st *vmv1alpha1.VCenterStatus, generation int64, conditionType string, problem error, reason string) {
	if problem != nil {
		r.set(st, generation, conditionType, metav1.ConditionFalse, reason, problem.Error())
		return
	}
	r.set(st, generation, conditionType, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
}

func (r *reconciler) set(st *vmv1alpha1.VCenterStatus, generation int64, conditionType string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&st.Conditions, r.now(), metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
	})
}
