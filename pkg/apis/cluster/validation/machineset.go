// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// ValidateMachineSet checks a new MachineSet.
func ValidateMachineSet(obj *clusterv1alpha1.MachineSet) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta), validateMachineSetSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateMachineSetUpdate checks the change from old to obj. An unchanged spec is not validated.
func ValidateMachineSetUpdate(obj, old *clusterv1alpha1.MachineSet) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	path := field.NewPath("spec")
	errs = append(errs, validateImmutable(obj.Spec.ClusterName, old.Spec.ClusterName, path.Child("clusterName"))...)
	return append(errs, validateMachineSetSpec(&obj.Spec, path)...)
}

func validateMachineSetSpec(spec *clusterv1alpha1.MachineSetSpec, path *field.Path) field.ErrorList {
	errs := validateClusterName(spec.ClusterName, path.Child("clusterName"))
	errs = append(errs, validateReplicas(spec.Replicas, path.Child("replicas"))...)
	errs = append(errs, validateTemplateSelector(&spec.Selector, &spec.Template, path)...)
	errs = append(errs, validateTemplate(&spec.Template, spec.ClusterName, path.Child("template"))...)
	errs = append(errs, validateNaming(&spec.MachineNaming, path.Child("machineNaming"))...)
	return append(errs, validateDeletionOrder(&spec.Deletion, path.Child("deletion"))...)
}

func validateDeletionOrder(spec *clusterv1alpha1.MachineSetDeletionSpec, path *field.Path) field.ErrorList {
	return validateEnum(spec.Order, path.Child("order"), clusterv1alpha1.RandomMachineSetDeletionOrder,
		clusterv1alpha1.NewestMachineSetDeletionOrder, clusterv1alpha1.OldestMachineSetDeletionOrder)
}
