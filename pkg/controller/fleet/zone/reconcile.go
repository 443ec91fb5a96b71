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
	// stateTimeout bounds one look.
	stateTimeout = 20 * time.Second
)

// reconciler makes the passes.
type reconciler struct {
	client vmclient.ZoneInterface
	zones  controller.Store[*vmv1alpha1.Zone]
	seen   Zones
	now    func() time.Time
}

// Reconcile writes what is seen of the zone of key, and lets it go when it may.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	z, err := r.zones.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading Zone %s: %w", key.Name, err)
	}
	if z == nil {
		return controller.Result{}, nil
	}
	bound, err := r.seen.Bind(ctx, z.VCenterName())
	if err != nil {
		return controller.Result{RequeueAfter: controller.Poll}, ctx.Err() // another process takes care of it
	}
	ctx = bound
	if z.DeletionTimestamp != nil {
		return r.remove(ctx, z)
	}
	if z, err = controller.AddFinalizer(ctx, r.zones, r.client, z, vmv1alpha1.ZoneFinalizer); err != nil {
		return controller.Overtaken(err)
	}
	return r.observe(ctx, z)
}

// remove lets go of a zone that nothing is in.
func (r *reconciler) remove(ctx context.Context, z *vmv1alpha1.Zone) (controller.Result, error) {
	n, err := r.seen.Machines(z.Name)
	if err == nil && n > 0 {
		err = fmt.Errorf("%d virtual machines are in it; it goes when they are gone", n)
	}
	if err != nil && slices.Contains(z.Finalizers, vmv1alpha1.ZoneFinalizer) {
		next := z.DeepCopy()
		r.set(&next.Status, z.Generation, vmv1alpha1.ConditionDeleting, metav1.ConditionTrue, vmv1alpha1.ReasonInUse, err.Error())
		return r.observe(ctx, next)
	}
	return controller.RemoveFinalizer(ctx, r.zones, r.client, z, vmv1alpha1.ZoneFinalizer)
}

// observe writes what is seen of a zone, if it is something else than before.
func (r *reconciler) observe(ctx context.Context, z *vmv1alpha1.Zone) (controller.Result, error) {
	looking, cancel := context.WithTimeout(ctx, stateTimeout)
	defer cancel()
	state, err := r.seen.State(looking, z)
	if ctx.Err() != nil {
		return controller.Result{}, nil // it was not looked at
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
	if n, err := r.seen.Machines(z.Name); err == nil {
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
	again := controller.Result{RequeueAfter: controller.Pace(st.Conditions, vmv1alpha1.ConditionReady, vmv1alpha1.ConditionDeleting, r.now(), controller.Poll)}
	if err := r.zones.UpdateStatus(ctx, r.client, next); err != nil {
		return controller.Overtaken(err)
	}
	return again, nil
}

// reasonOf is the reason of a zone that is not ready.
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

func (r *reconciler) set(st *vmv1alpha1.ZoneStatus, generation int64, kind string, status metav1.ConditionStatus, reason, message string) {
	conditions.Set(&st.Conditions, r.now(), metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
	})
}
