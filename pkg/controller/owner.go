// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// IfOwned returns object if owner controls it, and otherwise nil. An object of the same name may remain from an earlier
// owner.
func IfOwned[T Object](object T, owner metav1.Object) T {
	var none T
	if object == none || !metav1.IsControlledBy(object, owner) {
		return none
	}
	return object
}
