// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"sort"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Annotations of the effective spec with the names of its sources. The keys are those of KubeVirt, for compatibility
// with existing tools.
const (
	// AnnotationInstancetype is the name of a namespaced instance type.
	AnnotationInstancetype = "kubevirt.io/instancetype-name"
	// AnnotationClusterInstancetype is the name of a cluster instance type.
	AnnotationClusterInstancetype = "kubevirt.io/cluster-instancetype-name"
	// AnnotationPreference is the name of a namespaced preference.
	AnnotationPreference = "kubevirt.io/preference-name"
	// AnnotationClusterPreference is the name of a cluster preference.
	AnnotationClusterPreference = "kubevirt.io/cluster-preference-name"
)

// IsSourceAnnotation reports whether key is one of the annotations for sources of an effective spec.
func IsSourceAnnotation(key string) bool {
	switch key {
	case AnnotationInstancetype, AnnotationClusterInstancetype, AnnotationPreference, AnnotationClusterPreference:
		return true
	default:
		return false
	}
}

// applyAnnotations adds the annotations of the instance type. Only different values are a conflict.
func applyAnnotations(
	spec *vmv1alpha1.VirtualMachineInstanceSpec,
	own map[string]string,
	it *itv1alpha1.VirtualMachineInstancetypeSpec,
	found *problems,
) {
	if len(it.Annotations) == 0 {
		return
	}
	spec.Annotations = make(map[string]string, len(it.Annotations))
	var differing []string
	for key, value := range it.Annotations {
		spec.Annotations[key] = value
		if have, set := own[key]; set && have != value {
			differing = append(differing, key)
		}
	}
	sort.Strings(differing)
	for _, key := range differing {
		found.add(ConflictProblem, "metadata.annotations."+key, fmt.Sprintf(
			"conflicts with selected %s, which sets it to %q", sourceInstancetype, it.Annotations[key]))
	}
}

// fillAnnotations adds the annotations of the preference whose keys are not set by the virtual machine or its instance
// type.
func fillAnnotations(
	spec *vmv1alpha1.VirtualMachineInstanceSpec,
	own map[string]string,
	pref *itv1alpha1.VirtualMachinePreferenceSpec,
) {
	for key, value := range pref.Annotations {
		if _, set := own[key]; set {
			continue
		}
		if _, set := spec.Annotations[key]; set {
			continue
		}
		if spec.Annotations == nil {
			spec.Annotations = make(map[string]string, len(pref.Annotations))
		}
		spec.Annotations[key] = value
	}
}

// sourceAnnotations adds the names of the instance type and the preference.
func sourceAnnotations(spec *vmv1alpha1.VirtualMachineInstanceSpec) {
	set := func(revision *vmv1alpha1.AppliedRevision, namespacedKind, namespaced, cluster string) {
		if revision == nil {
			return
		}
		if spec.Annotations == nil {
			spec.Annotations = make(map[string]string, 2)
		}
		if revision.Kind == namespacedKind {
			spec.Annotations[namespaced] = revision.Name
			return
		}
		spec.Annotations[cluster] = revision.Name
	}
	set(spec.Instancetype, "virtualmachineinstancetype", AnnotationInstancetype, AnnotationClusterInstancetype)
	set(spec.Preference, "virtualmachinepreference", AnnotationPreference, AnnotationClusterPreference)
}
