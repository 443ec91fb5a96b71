// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package filling

import (
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// SetClusterLabel sets the label with the name of the cluster, by which the objects of a cluster are selected.
func SetClusterLabel(meta *metav1.ObjectMeta, name string) {
	if name == "" {
		return // rejected by validation
	}
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	meta.Labels[clusterv1alpha1.ClusterNameLabel] = name
}

// AddFinalizer adds a finalizer if it is missing.
func AddFinalizer(meta *metav1.ObjectMeta, name string) {
	if !slices.Contains(meta.Finalizers, name) {
		meta.Finalizers = append(meta.Finalizers, name)
	}
}

// KeepFinalizer restores a finalizer that the update removed, unless the object is being deleted. In that case the
// client removed it on purpose.
func KeepFinalizer(updated, stored *metav1.ObjectMeta, name string) {
	if stored.DeletionTimestamp == nil && slices.Contains(stored.Finalizers, name) {
		AddFinalizer(updated, name)
	}
}

// KeepOrphanFinalizer preserves the finalizer for orphaned dependents until the controller has set the annotation
// ReleasedAnnotation. The annotation means that no dependent has an owner reference to the object any more. The
// garbage collector of the management cluster removes the finalizer after it has updated the dependents that it
// knows. For half a minute after a restart of this server it may know none, and would then delete the dependents.
func KeepOrphanFinalizer(updated, stored *metav1.ObjectMeta) {
	_, released := updated.Annotations[clusterv1alpha1.ReleasedAnnotation]
	if stored.DeletionTimestamp != nil && slices.Contains(stored.Finalizers, metav1.FinalizerOrphanDependents) && !released {
		AddFinalizer(updated, metav1.FinalizerOrphanDependents)
	}
}

// AddVersionPrefix adds the prefix "v" to a version without it.
func AddVersionPrefix(version *string) {
	if *version != "" && !strings.HasPrefix(*version, "v") {
		*version = "v" + *version
	}
}

// SetDefault sets a number if it is nil.
func SetDefault(number **int32, value int32) {
	if *number == nil {
		*number = &value
	}
}

// SetLabel sets a label in template and adds it to selector.
func SetLabel(selector *metav1.LabelSelector, template *clusterv1alpha1.ObjectMeta, key, value string) {
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	selector.MatchLabels[key], template.Labels[key] = value, value
}

// IsEmpty reports whether selector has no requirement.
func IsEmpty(selector *metav1.LabelSelector) bool {
	return len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0
}

// SetReplicas sets the number of replicas if it is nil. The default is 1. If the annotations of the autoscaler contain
// bounds, the default is the lower bound for a new object, and the stored number within the bounds for an update. The
// autoscaler ignores objects outside of its bounds. stored is nil for a new object. Bounds that are not numbers are
// ignored.
func SetReplicas(replicas **int32, annotations map[string]string, stored *int32) {
	if *replicas != nil {
		return
	}
	least, errLeast := strconv.ParseInt(annotations[clusterv1alpha1.AutoscalerMinSizeAnnotation], 10, 32)
	most, errMost := strconv.ParseInt(annotations[clusterv1alpha1.AutoscalerMaxSizeAnnotation], 10, 32)
	switch {
	case errLeast != nil || errMost != nil:
		SetDefault(replicas, 1)
	case stored == nil:
		SetDefault(replicas, int32(least))
	default:
		SetDefault(replicas, min(max(*stored, int32(least)), int32(most)))
	}
}
