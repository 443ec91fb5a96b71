// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// Overtaken is how a pass ends whose write ended with err: it is made again when somebody
// else wrote, and there is nothing more to do when the object is gone, which is then told.
func Overtaken(err error) (Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return Result{RequeueAfter: Conflict}, nil
	case apierrors.IsNotFound(err):
		return Result{}, nil
	}
	return Result{}, err
}
