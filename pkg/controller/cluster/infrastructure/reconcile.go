// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// reconciler implements the reconciliation of SlipwayClusters.
type reconciler struct {
	deps    Deps
	objects controller.Store[*vmv1alpha1.SlipwayCluster]
}

// Reconcile updates the status of a SlipwayCluster.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	s, err := r.objects.Get(key)
	if err != nil {
		return controller.Result{}, fmt.Errorf("reading SlipwayCluster %s: %w", key, err)
	}
	if s == nil || s.DeletionTimestamp != nil {
		return controller.Result{}, nil
	}
	w := inputs{labels: r.deps.NamespaceLabels(key.Namespace)}
	w.zones, w.zonesKnown = r.deps.Zones()
	if by := ownerOf(s); by.name != "" {
		var c, err = r.deps.Clusters.Cluster(by.group, types.NamespacedName{Namespace: key.Namespace, Name: by.name})
		w.cluster, w.clusterErr = verifyOwner(c, s, by), err
	}
	next := s.DeepCopy()
	var again bool
	next.Status, again = computeStatus(s, w, r.deps.Now())
	conditions.KeepTimes(s.Status.Conditions, next.Status.Conditions)
	if err := r.objects.UpdateStatus(ctx, r.deps.Client.VmV1alpha1().SlipwayClusters(key.Namespace), next); err != nil {
		return controller.RequeueOnConflict(err)
	}
	if again {
		return controller.Result{RequeueAfter: controller.Recheck}, nil
	}
	// Changes of namespace labels, which zones select, trigger no event.
	return controller.Result{RequeueAfter: controller.DefaultResyncPeriod}, nil
}
