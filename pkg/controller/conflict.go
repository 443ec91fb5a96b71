// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// RequeueOnConflict returns the result of a reconcile whose write returned err. After a conflict the object is requeued. If the
// object was not found, the reconcile is done, because its deletion causes an event. Other errors are returned.
func RequeueOnConflict(err error) (Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return Result{RequeueAfter: Conflict}, nil
	case apierrors.IsNotFound(err):
		return Result{}, nil
	}
	return Result{}, err
}
