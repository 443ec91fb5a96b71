// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

type cluster = clusterv1alpha1.Cluster

// Paused returns the Paused condition of o. A paused object is neither reconciled nor deleted. c is the Cluster of o,
// or nil if it does not exist. The value of the pause annotation does not matter.
func Paused(c *cluster, o metav1.Object, kind string) metav1.Condition {
	var why []string
	if c != nil && ptr.Deref(c.Spec.Paused, false) {
		why = append(why, "Cluster spec.paused is set to true")
	}
	if _, ok := o.GetAnnotations()[clusterv1alpha1.PausedAnnotation]; ok {
		why = append(why, kind+" has the "+clusterv1alpha1.PausedAnnotation+" annotation")
	}
	out := metav1.Condition{Type: clusterv1alpha1.PausedCondition, Status: metav1.ConditionFalse, Reason: clusterv1alpha1.NotPausedReason}
	if len(why) > 0 {
		out.Status, out.Reason, out.Message = metav1.ConditionTrue, clusterv1alpha1.PausedReason, strings.Join(why, ", ")
	}
	return out
}

// PausedDeletionCondition returns the Deleting condition of a paused object that is being deleted.
func PausedDeletionCondition(paused metav1.Condition) metav1.Condition {
	return metav1.Condition{
		Type: clusterv1alpha1.DeletingCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.PausedReason,
		Message: "The deletion is paused: " + paused.Message,
	}
}

// SetClusterLabel sets the label of o that names its Cluster, and reports whether o was changed.
func SetClusterLabel(o metav1.Object, name string) bool {
	if o.GetLabels()[clusterv1alpha1.ClusterNameLabel] == name {
		return false
	}
	labels := maps.Clone(o.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[clusterv1alpha1.ClusterNameLabel] = name
	o.SetLabels(labels)
	return true
}

// AddOwner adds c to the owners of o, and reports whether o was changed. It does not change the controller of o.
func AddOwner(o metav1.Object, c *cluster) bool {
	return ensureOwner(o, metav1.OwnerReference{
		APIVersion: clusterv1alpha1.SchemeGroupVersion.String(), Kind: "Cluster", Name: c.Name, UID: c.UID,
	})
}

// SetController sets owner as the controller of o, and reports whether o was changed. o must have no other controller. kind
// is the kind of owner, in this API group.
func SetController(o, owner metav1.Object, kind string) bool {
	return ensureOwner(o, *metav1.NewControllerRef(owner, clusterv1alpha1.SchemeGroupVersion.WithKind(kind)))
}

// ensureOwner adds an owner reference. It replaces a reference to an earlier object of the same name.
func ensureOwner(o metav1.Object, ref metav1.OwnerReference) bool {
	refs := slices.Clone(o.GetOwnerReferences())
	i := slices.IndexFunc(refs, func(r metav1.OwnerReference) bool {
		return r.Kind == ref.Kind && r.Name == ref.Name && strings.HasPrefix(r.APIVersion, clusterv1alpha1.GroupName+"/")
	})
	switch {
	case i < 0:
		refs = append(refs, ref)
	case refs[i].UID == ref.UID && (ref.Controller == nil || ptr.Deref(refs[i].Controller, false)):
		return false
	default:
		refs[i] = ref
	}
	o.SetOwnerReferences(refs)
	return true
}

// IsOwnedBy reports whether o has an owner of this API group and one of kinds.
func IsOwnedBy(o metav1.Object, kinds ...string) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
		return strings.HasPrefix(r.APIVersion, clusterv1alpha1.GroupName+"/") && slices.Contains(kinds, r.Kind)
	})
}
