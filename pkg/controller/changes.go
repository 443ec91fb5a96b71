// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// Changes returns a handler that calls f with the old and the new version of an object. The old version is nil for a
// created object, and the new version is nil for a deleted one. Objects of the initial list are passed to f only if
// initial is true. Updates that did not change the resource version are ignored.
func Changes[T Object](initial bool, f func(was, now T)) cache.ResourceEventHandler {
	var none T
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, isInInitialList bool) {
			if initial || !isInInitialList {
				f(none, obj.(T))
			}
		},
		UpdateFunc: func(oldObj, obj any) {
			if was, now := oldObj.(T), obj.(T); was.GetResourceVersion() != now.GetResourceVersion() {
				f(was, now)
			}
		},
		DeleteFunc: func(obj any) {
			if gone, ok := WithoutTombstone[T](obj); ok {
				f(gone, none)
			}
		},
	}
}

// Edited reports whether an update changed more of an object than its status, or the object is being deleted.
func Edited(was, now metav1.Object) bool {
	return was.GetUID() != now.GetUID() || was.GetGeneration() != now.GetGeneration() || now.GetDeletionTimestamp() != nil
}
