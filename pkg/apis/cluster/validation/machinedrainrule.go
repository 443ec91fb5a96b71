// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// ValidateMachineDrainRule checks a new drain rule. An invalid selector would prevent the drain of all machines in the
// namespace.
func ValidateMachineDrainRule(obj *clusterv1alpha1.MachineDrainRule) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta), validateDrainRuleSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateMachineDrainRuleUpdate checks the change from old to obj. An unchanged spec is not validated.
func ValidateMachineDrainRuleUpdate(obj, old *clusterv1alpha1.MachineDrainRule) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	return append(errs, validateDrainRuleSpec(&obj.Spec, field.NewPath("spec"))...)
}

func validateDrainRuleSpec(spec *clusterv1alpha1.MachineDrainRuleSpec, path *field.Path) field.ErrorList {
	drain := path.Child("drain")
	errs := validateRequiredEnum(spec.Drain.Behavior, drain.Child("behavior"), clusterv1alpha1.MachineDrainRuleDrainBehaviorDrain,
		clusterv1alpha1.MachineDrainRuleDrainBehaviorSkip, clusterv1alpha1.MachineDrainRuleDrainBehaviorWaitCompleted)
	if order := spec.Drain.Order; order != nil && spec.Drain.Behavior != clusterv1alpha1.MachineDrainRuleDrainBehaviorDrain {
		errs = append(errs, field.Invalid(drain.Child("order"), *order, fmt.Sprintf("can be set only with behavior %s", clusterv1alpha1.MachineDrainRuleDrainBehaviorDrain)))
	}
	for i := range spec.Machines {
		at := path.Child("machines").Index(i)
		errs = append(errs, validateSelector(spec.Machines[i].Selector, at.Child("selector"))...)
		errs = append(errs, validateSelector(spec.Machines[i].ClusterSelector, at.Child("clusterSelector"))...)
	}
	errs = append(errs, validateNoDuplicates(spec.Machines, path.Child("machines"))...)
	for i := range spec.Pods {
		at := path.Child("pods").Index(i)
		errs = append(errs, validateSelector(spec.Pods[i].Selector, at.Child("selector"))...)
		errs = append(errs, validateSelector(spec.Pods[i].NamespaceSelector, at.Child("namespaceSelector"))...)
	}
	return append(errs, validateNoDuplicates(spec.Pods, path.Child("pods"))...)
}

// validateNoDuplicates checks that no two entries of a short list are equal.
func validateNoDuplicates[T any](entries []T, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range entries {
		for j := range i {
			if apiequality.Semantic.DeepEqual(entries[i], entries[j]) {
				errs = append(errs, field.Duplicate(path.Index(i), fmt.Sprintf("same as entry %d", j)))
				break
			}
		}
	}
	return errs
}
