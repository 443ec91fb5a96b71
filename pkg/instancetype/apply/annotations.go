// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"sort"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Annotations of the effective spec that name where it comes from. The names
// are KubeVirt's, so that tools which read them keep working.
const (
	// AnnotationInstancetype names a namespaced instance type.
	AnnotationInstancetype = "kubevirt.io/instancetype-name"
	// AnnotationClusterInstancetype names a cluster instance type.
	AnnotationClusterInstancetype = "kubevirt.io/cluster-instancetype-name"
	// AnnotationPreference names a namespaced preference.
	AnnotationPreference = "kubevirt.io/preference-name"
	// AnnotationClusterPreference names a cluster preference.
	AnnotationClusterPreference = "kubevirt.io/cluster-preference-name"
)

// IsSourceAnnotation reports whether key names an instance type or preference
// as the source of an effective spec.
func IsSourceAnnotation(key string) bool {
	switch key {
	case AnnotationInstancetype, AnnotationClusterInstancetype, AnnotationPreference, AnnotationClusterPreference:
		return true
	default:
		return false
	}
}

// applyAnnotations adds the annotations of the instance type. The same value on
// both sides is fine.
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

// fillAnnotations adds the annotations of the preference whose keys neither the
// virtual machine nor its instance type has.
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

// sourceAnnotations records the names of instance type and preference.
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
