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

// hashLength is the length of a template hash in characters.
const hashLength = 10

// TemplateDifferences returns the differences between the template of Machines and the template wanted, a sentence each. It
// ignores fields that are changed in place.
func TemplateDifferences(is, wanted *clusterv1alpha1.MachineTemplateSpec) []string {
	a, b := immutableFields(is), immutableFields(wanted)
	var why []string
	if a.Version != b.Version {
		why = append(why, fmt.Sprintf("Version %s, %s required", a.Version, b.Version))
	}
	switch {
	case equality.Semantic.DeepEqual(a.Bootstrap, b.Bootstrap):
	case a.Bootstrap.ConfigRef.IsDefined():
		why = append(why, clusterv1alpha1.KindFromTemplate(a.Bootstrap.ConfigRef.Kind)+" is not up-to-date")
	default:
		why = append(why, fmt.Sprintf("spec.bootstrap.dataSecretName %s, %s required",
			ptr.Deref(a.Bootstrap.DataSecretName, "nil"), ptr.Deref(b.Bootstrap.DataSecretName, "nil")))
	}
	if a.InfrastructureRef != b.InfrastructureRef {
		why = append(why, clusterv1alpha1.KindFromTemplate(a.InfrastructureRef.Kind)+" is not up-to-date")
	}
	if a.FailureDomain != b.FailureDomain {
		why = append(why, fmt.Sprintf("Failure domain %s, %s required", a.FailureDomain, b.FailureDomain))
	}
	return why
}

// immutableFields returns the fields of a template that cannot be changed in place.
func immutableFields(t *clusterv1alpha1.MachineTemplateSpec) clusterv1alpha1.MachineSpec {
	return clusterv1alpha1.MachineSpec{
		Bootstrap: t.Spec.Bootstrap, InfrastructureRef: t.Spec.InfrastructureRef, Version: t.Spec.Version, FailureDomain: t.Spec.FailureDomain,
	}
}

// Hash returns a hash of the fields that cannot be changed in place. A different try gives a different hash.
func Hash(t *clusterv1alpha1.MachineTemplateSpec, try int) string {
	text, err := json.Marshal(immutableFields(t))
	if err != nil {
		panic(fmt.Sprintf("cannot encode a template as JSON: %v", err)) // The template was decoded from JSON.
	}
	return HashString(fmt.Appendf(text, "/%d", try), hashLength)
}

// IsSelected reports whether selector selects a Machine of the Cluster. An empty or invalid selector selects none.
func IsSelected(selector *metav1.LabelSelector, clusterName string, m *machine) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && !s.Empty() && m.Spec.ClusterName == clusterName && s.Matches(labels.Set(m.Labels))
}

// IndexByControllerUID is an index function. It returns the UID of the controller of o, or nil if o has none.
func IndexByControllerUID(o metav1.Object) []string {
	if ref := metav1.GetControllerOfNoCopy(o); ref != nil {
		return []string{string(ref.UID)}
	}
	return nil
}

// IndexUncontrolledByNamespace is an index function. It returns the namespace of o if o has no controller, and nil otherwise.
func IndexUncontrolledByNamespace(o metav1.Object) []string {
	if metav1.GetControllerOfNoCopy(o) != nil {
		return nil
	}
	return []string{o.GetNamespace()}
}

// IsEdited reports whether more than the status of an object has changed.
func IsEdited(was, now metav1.Object) bool {
	return was.GetUID() != now.GetUID() || was.GetGeneration() != now.GetGeneration() ||
		was.GetDeletionTimestamp() == nil && now.GetDeletionTimestamp() != nil ||
		!equality.Semantic.DeepEqual(was.GetLabels(), now.GetLabels()) || !equality.Semantic.DeepEqual(was.GetAnnotations(), now.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(was.GetOwnerReferences(), now.GetOwnerReferences())
}
