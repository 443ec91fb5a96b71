// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	vmlisters "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
)

// reconciler reconciles groups.
type reconciler struct {
	client vmclient.VmV1alpha1Interface
	groups controller.Store[*group]
	vms    vmlisters.VirtualMachineLister
	now    func() time.Time
}

// Reconcile computes the desired power states of the members and writes the status of the group if it differs. It requeues the
// group for the time at which the status can change without an event.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	g, err := r.groups.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading VirtualMachineGroup %s: %w", key, err)
	}
	if g == nil || g.DeletionTimestamp != nil {
		return controller.Result{}, nil
	}
	now := r.now()
	status, until := decide(g, r.machines(key.Namespace), r.groupsOf(key.Namespace), now)
	next := g.DeepCopy()
	next.Status = *status
	if err := r.groups.UpdateStatus(ctx, r.client.VirtualMachineGroups(key.Namespace), next); err != nil {
		return controller.RequeueOnConflict(err)
	}
	again := controller.DefaultResyncPeriod
	if !until.IsZero() {
		again = min(again, max(until.Sub(now), time.Millisecond))
	}
	return controller.Result{RequeueAfter: again}, nil
}

// machines returns a function that reads VMs from the cache. A VM that the cache does not have yet causes an event later.
func (r *reconciler) machines(namespace string) machines {
	lister := r.vms.VirtualMachines(namespace)
	return func(name string) *vmv1alpha1.VirtualMachine {
		vm, err := lister.Get(name)
		if err != nil {
			return nil
		}
		return vm
	}
}

func (r *reconciler) groupsOf(namespace string) groups {
	return func(name string) *group {
		g, err := r.groups.Get(types.NamespacedName{Namespace: namespace, Name: name})
		if err != nil {
			return nil
		}
		return g
	}
}
