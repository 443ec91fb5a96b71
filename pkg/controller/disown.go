// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RemoveOwner removes the owner reference with the given UID from all objects that have it. It changes the objects in all.
// Objects that no longer exist are skipped.
func RemoveOwner[T Object](ctx context.Context, store Store[T], client Client[T], all []T, owner types.UID) error {
	for _, o := range all {
		left := slices.DeleteFunc(slices.Clone(o.GetOwnerReferences()), func(r metav1.OwnerReference) bool { return r.UID == owner })
		if len(left) == len(o.GetOwnerReferences()) {
			continue
		}
		o.SetOwnerReferences(left)
		if _, err := store.Update(ctx, client, o); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
