// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// Found is what was read, nil where there is none of that name: an error that is left is about
// an object of which nothing is known.
func Found[T Object](object T, err error) (T, error) {
	if apierrors.IsNotFound(err) {
		var none T
		return none, nil
	}
	return object, err
}
