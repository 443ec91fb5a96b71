// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// minStartupSeconds is the minimum of nodeStartupTimeoutSeconds, as in Cluster API. With a shorter timeout, every
// machine would be replaced before its Node exists.
const minStartupSeconds = 30

// rangeFormat matches a range of the number of machines (Cluster API's v1beta2).
var rangeFormat = regexp.MustCompile(`^\[([0-9]{1,9})-([0-9]{1,9})\]$`)

// ValidateMachineHealthCheck checks a new health check.
func ValidateMachineHealthCheck(obj *clusterv1alpha1.MachineHealthCheck) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta), validateHealthCheckSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateMachineHealthCheckUpdate checks the change from old to obj. An unchanged spec is not validated.
func ValidateMachineHealthCheckUpdate(obj, old *clusterv1alpha1.MachineHealthCheck) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	path := field.NewPath("spec")
	errs = append(errs, validateImmutable(obj.Spec.ClusterName, old.Spec.ClusterName, path.Child("clusterName"))...)
	return append(errs, validateHealthCheckSpec(&obj.Spec, path)...)
}

func validateHealthCheckSpec(spec *clusterv1alpha1.MachineHealthCheckSpec, path *field.Path) field.ErrorList {
	errs := validateClusterName(spec.ClusterName, path.Child("clusterName"))
	selector := path.Child("selector")
	errs = append(errs, validateSelector(&spec.Selector, selector)...)
	if len(spec.Selector.MatchLabels) == 0 && len(spec.Selector.MatchExpressions) == 0 {
		errs = append(errs, field.Required(selector, "must select machines by label: an empty selector would also select the control plane machines"))
	}
	if name, ok := spec.Selector.MatchLabels[clusterv1alpha1.ClusterNameLabel]; ok && name != spec.ClusterName {
		errs = append(errs, field.Invalid(selector.Child("matchLabels").Key(clusterv1alpha1.ClusterNameLabel), name, fmt.Sprintf("must be %q, the value of spec.clusterName", spec.ClusterName)))
	}
	checks := path.Child("checks")
	if seconds := spec.Checks.NodeStartupTimeoutSeconds; seconds != nil && *seconds != 0 && *seconds < minStartupSeconds {
		errs = append(errs, field.Invalid(checks.Child("nodeStartupTimeoutSeconds"), *seconds, "must be at least 30, or 0 for no timeout"))
	}
	errs = append(errs, validateUnhealthy(spec.Checks.UnhealthyNodeConditions, nil, checks.Child("unhealthyNodeConditions"))...)
	errs = append(errs, validateUnhealthy(spec.Checks.UnhealthyMachineConditions, dependentConditions, checks.Child("unhealthyMachineConditions"))...)
	remediation := path.Child("remediation")
	errs = append(errs, validateTrigger(&spec.Remediation.TriggerIf, remediation.Child("triggerIf"))...)
	return append(errs, validateRemediationTemplate(&spec.Remediation.TemplateRef, remediation.Child("templateRef"))...)
}

// dependentConditions are the Machine conditions that depend on the result of the health check.
var dependentConditions = []string{
	clusterv1alpha1.ReadyCondition, clusterv1alpha1.AvailableCondition, clusterv1alpha1.MachineHealthCheckSucceededCondition,
	clusterv1alpha1.MachineOwnerRemediatedCondition, clusterv1alpha1.MachineExternallyRemediatedCondition,
}

func validateUnhealthy(conditions []clusterv1alpha1.UnhealthyCondition, refused []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range conditions {
		c, at := &conditions[i], path.Index(i)
		errs = append(errs, validateConditionType(c.Type, at.Child("type"))...)
		if slices.Contains(refused, c.Type) {
			errs = append(errs, field.Invalid(at.Child("type"), c.Type, fmt.Sprintf("must not be one of %v, which depend on the health check", refused)))
		}
		errs = append(errs, validateRequiredEnum(c.Status, at.Child("status"), metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown)...)
		if timeout := at.Child("timeoutSeconds"); c.TimeoutSeconds == nil {
			errs = append(errs, field.Required(timeout, "must be the time after which the condition makes a machine unhealthy, in seconds"))
		} else {
			errs = append(errs, validateNotNegative(c.TimeoutSeconds, timeout)...)
		}
	}
	return errs
}

func validateTrigger(trigger *clusterv1alpha1.MachineHealthCheckRemediationTriggerIf, path *field.Path) field.ErrorList {
	errs := validateAmount(trigger.UnhealthyLessThanOrEqualTo, path.Child("unhealthyLessThanOrEqualTo"))
	if trigger.UnhealthyInRange == "" {
		return errs
	}
	const allowed = "must be a range such as [3-5], with a first number that is not greater than the second"
	ends := rangeFormat.FindStringSubmatch(trigger.UnhealthyInRange)
	if ends == nil {
		return append(errs, field.Invalid(path.Child("unhealthyInRange"), trigger.UnhealthyInRange, allowed))
	}
	first, _ := strconv.Atoi(ends[1]) // at most nine digits
	last, _ := strconv.Atoi(ends[2])
	if first > last {
		errs = append(errs, field.Invalid(path.Child("unhealthyInRange"), trigger.UnhealthyInRange, allowed))
	}
	return errs
}
