// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// HandleChanges returns a handler that calls f with the old and the new version of an object. The old version is nil for a
// created object, and the new version is nil for a deleted one. Objects of the initial list are passed to f only if
// initial is true. Updates that did not change the resource version are ignored.
func HandleChanges[T Object](initial bool, f func(old, updated T)) cache.ResourceEventHandler {
	var none T
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if initial || !isInInitialList {
				f(none, obj.(T))
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			if old, updated := oldObj.(T), obj.(T); old.GetResourceVersion() != updated.GetResourceVersion() {
				f(old, updated)
			}
		},
		DeleteFunc: func(obj any) {
			if deleted, ok := WithoutTombstone[T](obj); ok {
				f(deleted, none)
			}
		},
	}
}

// SpecChanged reports whether an update changed more of an object than its status, or the object is being deleted.
func SpecChanged(old, updated metav1.Object) bool {
	return old.GetUID() != updated.GetUID() || old.GetGeneration() != updated.GetGeneration() || updated.GetDeletionTimestamp() != nil
}
