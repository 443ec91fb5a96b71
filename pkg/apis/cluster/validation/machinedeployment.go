// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// maxRevisions is the maximum of revisionHistoryLimit.
const maxRevisions = 100

// ValidateMachineDeployment checks a new MachineDeployment. Its name is used as a label value.
func ValidateMachineDeployment(obj *clusterv1alpha1.MachineDeployment) field.ErrorList {
	errs := validateMeta(&obj.ObjectMeta)
	if obj.Name != "" {
		errs = append(errs, validateLabelName(obj.Name, field.NewPath("metadata", "name"))...)
	}
	return append(errs, validateMachineDeploymentSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateMachineDeploymentUpdate checks the change from old to obj. An unchanged spec is not validated.
func ValidateMachineDeploymentUpdate(obj, old *clusterv1alpha1.MachineDeployment) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	path := field.NewPath("spec")
	errs = append(errs, validateImmutable(obj.Spec.ClusterName, old.Spec.ClusterName, path.Child("clusterName"))...)
	if !apiequality.Semantic.DeepEqual(obj.Spec.Selector, old.Spec.Selector) {
		errs = append(errs, field.Invalid(path.Child("selector"), metav1.FormatLabelSelector(&obj.Spec.Selector),
			"is immutable; must stay "+metav1.FormatLabelSelector(&old.Spec.Selector)+": existing machines would no longer be managed"))
	}
	return append(errs, validateMachineDeploymentSpec(&obj.Spec, path)...)
}

func validateMachineDeploymentSpec(spec *clusterv1alpha1.MachineDeploymentSpec, path *field.Path) field.ErrorList {
	errs := validateClusterName(spec.ClusterName, path.Child("clusterName"))
	errs = append(errs, validateReplicas(spec.Replicas, path.Child("replicas"))...)
	errs = append(errs, validateStrategy(&spec.Rollout.Strategy, path.Child("rollout", "strategy"))...)
	errs = append(errs, validateTemplateSelector(&spec.Selector, &spec.Template, path)...)
	errs = append(errs, validateTemplate(&spec.Template, spec.ClusterName, path.Child("template"))...)
	errs = append(errs, validateNaming(&spec.MachineNaming, path.Child("machineNaming"))...)
	errs = append(errs, validateAmount(spec.Remediation.MaxInFlight, path.Child("remediation", "maxInFlight"))...)
	errs = append(errs, validateDeletionOrder(&spec.Deletion, path.Child("deletion"))...)
	if limit := spec.RevisionHistoryLimit; limit != nil && (*limit < 0 || *limit > maxRevisions) {
		errs = append(errs, field.Invalid(path.Child("revisionHistoryLimit"), *limit, "must be from 0 to 100"))
	}
	return errs
}

func validateStrategy(strategy *clusterv1alpha1.MachineDeploymentRolloutStrategy, path *field.Path) field.ErrorList {
	errs := validateEnum(strategy.Type, path.Child("type"),
		clusterv1alpha1.RollingUpdateMachineDeploymentStrategyType, clusterv1alpha1.OnDeleteMachineDeploymentStrategyType)
	rolling, at := strategy.RollingUpdate, path.Child("rollingUpdate")
	errs = append(errs, validateAmount(rolling.MaxUnavailable, at.Child("maxUnavailable"))...)
	errs = append(errs, validateAmount(rolling.MaxSurge, at.Child("maxSurge"))...)
	if isZeroAmount(rolling.MaxUnavailable) && isZeroAmount(rolling.MaxSurge) {
		errs = append(errs, field.Invalid(at, "maxUnavailable 0, maxSurge 0", "at least one must be greater than 0, otherwise no machine can be replaced"))
	}
	return errs
}

// isZeroAmount reports whether amount is set and 0.
func isZeroAmount(amount *intstr.IntOrString) bool {
	if amount == nil {
		return false
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(amount, 100, true)
	return err == nil && n == 0
}
