// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package members

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// hashLength is how many letters the hash of a template has.
const hashLength = 10

// Outdated says, a sentence each, why Machines of the template is are not as the template
// wanted says; nothing if they are. What is changed in place is no reason.
func Outdated(is, wanted *clusterv1alpha1.MachineTemplateSpec) []string {
	a, b := rolled(is), rolled(wanted)
	var why []string
	if a.Version != b.Version {
		why = append(why, fmt.Sprintf("Version %s, %s required", a.Version, b.Version))
	}
	switch {
	case equality.Semantic.DeepEqual(a.Bootstrap, b.Bootstrap):
	case a.Bootstrap.ConfigRef.IsDefined():
		why = append(why, clusterv1alpha1.MadeKind(a.Bootstrap.ConfigRef.Kind)+" is not up-to-date")
	default:
		why = append(why, fmt.Sprintf("spec.bootstrap.dataSecretName %s, %s required",
			ptr.Deref(a.Bootstrap.DataSecretName, "nil"), ptr.Deref(b.Bootstrap.DataSecretName, "nil")))
	}
	if a.InfrastructureRef != b.InfrastructureRef {
		why = append(why, clusterv1alpha1.MadeKind(a.InfrastructureRef.Kind)+" is not up-to-date")
	}
	if a.FailureDomain != b.FailureDomain {
		why = append(why, fmt.Sprintf("Failure domain %s, %s required", a.FailureDomain, b.FailureDomain))
	}
	return why
}

// rolled is what of a template cannot be changed in place.
func rolled(t *clusterv1alpha1.MachineTemplateSpec) clusterv1alpha1.MachineSpec {
	return clusterv1alpha1.MachineSpec{
		Bootstrap: t.Spec.Bootstrap, InfrastructureRef: t.Spec.InfrastructureRef, Version: t.Spec.Version, FailureDomain: t.Spec.FailureDomain,
	}
}

// Hash tells templates apart that are not changed in place into each other. With another try
// it is another one.
func Hash(t *clusterv1alpha1.MachineTemplateSpec, try int) string {
	text, err := json.Marshal(rolled(t))
	if err != nil {
		panic(fmt.Sprintf("a template cannot be written as JSON: %v", err)) // It came as such.
	}
	return Letters(fmt.Appendf(text, "/%d", try), hashLength)
}

// Selected is true for a Machine of a Cluster that a selector selects. One that says nothing
// selects nothing.
func Selected(selector *metav1.LabelSelector, clusterName string, m *machine) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && !s.Empty() && m.Spec.ClusterName == clusterName && s.Matches(labels.Set(m.Labels))
}

// ControllerUID is the UID of what controls o, in a list; the list is empty if nobody does.
func ControllerUID(o metav1.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// UncontrolledIn is the namespace of o, in a list; the list is empty if somebody controls it.
func UncontrolledIn(o metav1.Object) []string {
	if metav1.GetControllerOfNoCopy(o) != nil {
		return nil
	}
	return []string{o.GetNamespace()}
}

// Edited is true for an object of which more changed than its status, which its controller
// writes.
func Edited(was, now metav1.Object) bool {
	return was.GetUID() != now.GetUID() || was.GetGeneration() != now.GetGeneration() ||
		was.GetDeletionTimestamp() == nil && now.GetDeletionTimestamp() != nil ||
		!equality.Semantic.DeepEqual(was.GetLabels(), now.GetLabels()) || !equality.Semantic.DeepEqual(was.GetAnnotations(), now.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(was.GetOwnerReferences(), now.GetOwnerReferences())
}
