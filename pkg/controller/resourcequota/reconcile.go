// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package resourcequota

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/kubernetes"
	corev1listers "k8s.io/client-go/listers/core/v1"

	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/registry/quota"
)

// reconciler reconciles ResourceQuotas, one at a time.
type reconciler struct {
	host   kubernetes.Interface
	quotas corev1listers.ResourceQuotaLister
	usage  func(*corev1.ResourceQuota) (corev1.ResourceList, error)
	now    func() time.Time
	// excess has the quotas of which more is charged than is used.
	excess map[types.NamespacedName]*observation
}

// Reconcile counts the usage of one quota.
func (r *reconciler) Reconcile(ctx context.Context, key types.NamespacedName) (controller.Result, error) {
	q, err := r.quotas.ResourceQuotas(key.Namespace).Get(key.Name)
	switch {
	case apierrors.IsNotFound(err):
		delete(r.excess, key)
		return controller.Result{}, nil
	case err != nil:
		return controller.Result{}, fmt.Errorf("reading ResourceQuota %s: %w", key, err)
	}
	names := limited(q)
	if len(names) == 0 {
		delete(r.excess, key)
		return controller.Result{}, nil
	}
	charged := quotav1.Mask(q.Status.Used, names)
	before, now := r.excess[key], r.now()
	age := before.age(q.UID, now)
	if age >= 0 && age < settleTime && len(charged) == len(names) {
		return controller.Result{RequeueAfter: settleTime - age}, nil
	}
	if age < 0 {
		before = nil
	}
	used, err := r.usage(q)
	if err != nil {
		return controller.Result{}, fmt.Errorf("counting the usage of ResourceQuota %s: %w", key, err)
	}
	charge := settled(before, charged, used)
	if !quotav1.Equals(charge, charged) {
		written := q.DeepCopy()
		written.Status.Used = quotav1.Mask(written.Status.Used, quotav1.ResourceNames(written.Status.Hard))
		for name, quantity := range charge {
			written.Status.Used[name] = quantity
		}
		_, err := r.host.CoreV1().ResourceQuotas(key.Namespace).UpdateStatus(ctx, written, metav1.UpdateOptions{})
		switch {
		case apierrors.IsConflict(err):
			return controller.Result{RequeueAfter: controller.ShortConflict}, nil
		case apierrors.IsNotFound(err):
			return controller.Result{}, nil
		case err != nil:
			return controller.Result{}, fmt.Errorf("writing the status of ResourceQuota %s: %w", key, err)
		}
	}
	if quotav1.Equals(charge, used) {
		delete(r.excess, key)
		return controller.Result{}, nil
	}
	r.excess[key] = &observation{uid: q.UID, at: now, used: charge}
	return controller.Result{RequeueAfter: settleTime}, nil
}

// limited returns the resources of Slipway that q limits, by status.hard.
func limited(q *corev1.ResourceQuota) []corev1.ResourceName {
	return quotav1.Intersection(quotav1.ResourceNames(q.Status.Hard), quota.ResourceNames)
}
