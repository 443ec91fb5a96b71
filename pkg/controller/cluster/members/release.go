// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// IsOrphaning reports whether an object is being deleted with its dependents orphaned.
func IsOrphaning(o metav1.Object) bool {
	return o.GetDeletionTimestamp() != nil && slices.Contains(o.GetFinalizers(), metav1.FinalizerOrphanDependents)
}

// RemoveOrphanFinalizer removes the orphan finalizer of o and marks o as released. Call it after the owner references of the
// dependents were removed.
func RemoveOrphanFinalizer(o metav1.Object) {
	o.SetFinalizers(slices.DeleteFunc(slices.Clone(o.GetFinalizers()), func(name string) bool {
		return name == metav1.FinalizerOrphanDependents
	}))
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[clusterv1alpha1.ReleasedAnnotation] = "true"
	o.SetAnnotations(annotations)
}
