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

// Cluster puts the name of the cluster into the label by which objects of a cluster are found.
func Cluster(meta *metav1.ObjectMeta, name string) {
	if name == "" {
		return // validation refuses it
	}
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	meta.Labels[clusterv1alpha1.ClusterNameLabel] = name
}

// Finalizer adds a finalizer where it is missing.
func Finalizer(meta *metav1.ObjectMeta, name string) {
	if !slices.Contains(meta.Finalizers, name) {
		meta.Finalizers = append(meta.Finalizers, name)
	}
}

// KeepFinalizer adds one that the object had before, as long as it is not being deleted: a client
// that removes it then does so on purpose.
func KeepFinalizer(updated, stored *metav1.ObjectMeta, name string) {
	if stored.DeletionTimestamp == nil && slices.Contains(stored.Finalizers, name) {
		Finalizer(updated, name)
	}
}

// KeepOrphaning keeps the finalizer of an object whose dependents are to stay until its
// controller says, by the annotation, that none of them names it as an owner any more. The
// garbage collector of the host drops the finalizer once it has seen to the dependents that it
// knows of, which after a restart of this server may be none for half a minute, and then
// deletes the others.
func KeepOrphaning(updated, stored *metav1.ObjectMeta) {
	_, released := updated.Annotations[clusterv1alpha1.ReleasedAnnotation]
	if stored.DeletionTimestamp != nil && slices.Contains(stored.Finalizers, metav1.FinalizerOrphanDependents) && !released {
		Finalizer(updated, metav1.FinalizerOrphanDependents)
	}
}

// Version puts a v before a version that has none.
func Version(version *string) {
	if *version != "" && !strings.HasPrefix(*version, "v") {
		*version = "v" + *version
	}
}

// Number sets a number that is not given.
func Number(number **int32, value int32) {
	if *number == nil {
		*number = &value
	}
}

// Label sets a label of what is made from a template, and lets selector select by it.
func Label(selector *metav1.LabelSelector, template *clusterv1alpha1.ObjectMeta, key, value string) {
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	if template.Labels == nil {
		template.Labels = map[string]string{}
	}
	selector.MatchLabels[key], template.Labels[key] = value, value
}

// IsEmpty is true for a selector without any requirement.
func IsEmpty(selector *metav1.LabelSelector) bool {
	return len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0
}

// Replicas sets how many are wanted when that is not given: 1, or what is within the bounds of
// the autoscaler, which leaves alone what is not. stored is how many were wanted before, nil
// for an object that is created. Bounds that are no numbers are none.
func Replicas(replicas **int32, annotations map[string]string, stored *int32) {
	if *replicas != nil {
		return
	}
	least, errLeast := strconv.ParseInt(annotations[clusterv1alpha1.AutoscalerMinSizeAnnotation], 10, 32)
	most, errMost := strconv.ParseInt(annotations[clusterv1alpha1.AutoscalerMaxSizeAnnotation], 10, 32)
	switch {
	case errLeast != nil || errMost != nil:
		Number(replicas, 1)
	case stored == nil:
		Number(replicas, int32(least))
	default:
		Number(replicas, min(max(*stored, int32(least)), int32(most)))
	}
}
