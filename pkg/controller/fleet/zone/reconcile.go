// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

const (
	// countSoon is the delay after which a zone is observed when virtual machines were created or deleted. Many of them
	// cause one reconcile, and a user who has created one sees it counted.
	countSoon = 2 * time.Second
	// stateTimeout is the time limit for one observation.
	stateTimeout = 20 * time.Second
)

// reconciler reconciles Zones.
type reconciler struct {
	client   vmclient.ZoneInterface
	zones    controller.Store[*vmv1alpha1.Zone]
	observer Zones
	now      func() time.Time
}

// Reconcile writes the observed state of a zone, or removes its finalizer if it is deleted.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	z, err := r.zones.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading Zone %s: %w", key.Name, err)
	}
	if z == nil {
		return controller.Result{}, nil
	}
	bound, err := r.observer.Bind(ctx, z.VCenterName())
	if err != nil {
		return controller.Result{RequeueAfter: controller.Poll}, ctx.Err() // another replica manages it
	}
	ctx = bound
	if z.DeletionTimestamp != nil {
		return r.remove(ctx, z)
	}
	if z, err = controller.AddFinalizer(ctx, r.zones, r.client, z, vmv1alpha1.ZoneFinalizer); err != nil {
		return controller.RequeueOnConflict(err)
	}
	return r.observe(ctx, z)
}

// remove removes the finalizer of a zone without VMs.
func (r *reconciler) remove(ctx context.Context, z *vmv1alpha1.Zone) (controller.Result, error) {
	n, err := r.observer.Machines(z.Name)
	if err == nil && n > 0 {
		err = fmt.Errorf("waiting for the deletion of %d virtual machines in the zone", n)
	}
	if err != nil && slices.Contains(z.Finalizers, vmv1alpha1.ZoneFinalizer) {
		next := z.DeepCopy()
		r.set(&next.Status, z.Generation, vmv1alpha1.ConditionDeleting, metav1.ConditionTrue, vmv1alpha1.ReasonInUse, err.Error())
		return r.observe(ctx, next)
	}
	return controller.RemoveFinalizer(ctx, r.zones, r.client, z, vmv1alpha1.ZoneFinalizer)
}

// observe writes the observed state of a zone if it has changed.
func (r *reconciler) observe(ctx context.Context, z *vmv1alpha1.Zone) (controller.Result, error) {
	observing, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	state, err := r.observer.State(observing, z)
	if ctx.Err() != nil {
		return controller.Result{}, nil // it was not observed
	}
	stored, getErr := r.zones.Get(controller.KeyOf(z))
	if getErr != nil || stored == nil {
		return controller.Result{}, getErr
	}
	next := z.DeepCopy()
	st := &next.Status
	if state.Read {
		*st = statusOf(&state, st)
	}
	st.ObservedGeneration = z.Generation
	if n, err := r.observer.Machines(z.Name); err == nil {
		st.VirtualMachines = int32(n)
	}
	if err == nil {
		err = state.Trouble
	}
	if err != nil {
		r.set(st, z.Generation, vmv1alpha1.ConditionReady, metav1.ConditionFalse, reasonOf(err), err.Error())
	} else {
		r.set(st, z.Generation, vmv1alpha1.ConditionReady, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
	}
	again := controller.Result{RequeueAfter: controller.ObserveDelay(st.Conditions, vmv1alpha1.ConditionReady, vmv1alpha1.ConditionDeleting, r.now(), controller.Poll)}
	if err := r.zones.UpdateStatus(ctx, r.client, next); err != nil {
		return controller.RequeueOnConflict(err)
	}
	return again, nil
}

// reasonOf returns the reason of Ready of a zone that is not ready.
func reasonOf(err error) string {
	var unusable *provider.NotUsableError
	var unreachable *provider.UnreachableError
	switch {
	case errors.As(err, &unreachable):
		return vmv1alpha1.ReasonUnreachable
	case errors.As(err, &unusable) && unusable.Missing:
		return vmv1alpha1.ReasonNotFound
	case errors.As(err, &unusable):
		return vmv1alpha1.ReasonInvalid
	}
	return vmv1alpha1.ReasonNotReady
}

func (r *reconciler) set(st *vmv1alpha1.ZoneStatus, generation int64, conditionType string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&st.Conditions, r.now(), metav1.Condition{
		Type: conditionType, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
	})
}
