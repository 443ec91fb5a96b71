// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// IgnoreNotFound returns an object that was read, or nil if it was not found. Any other error is returned unchanged.
func IgnoreNotFound[T Object](object T, err error) (T, error) {
	if apierrors.IsNotFound(err) {
		var none T
		return none, nil
	}
	return object, err
}
