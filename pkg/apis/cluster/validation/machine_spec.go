// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// validateMachineSpec checks the spec of a machine or of a machine template.
func validateMachineSpec(spec *clusterv1alpha1.MachineSpec, r machineRules, path *field.Path) field.ErrorList {
	errs := validateClusterName(spec.ClusterName, path.Child("clusterName"))
	errs = append(errs, validateBootstrap(&spec.Bootstrap, r, path.Child("bootstrap"))...)
	infrastructure := path.Child("infrastructureRef")
	if !spec.InfrastructureRef.IsDefined() {
		errs = append(errs, field.Required(infrastructure, "must refer to the infrastructure object of the machine by apiGroup, kind and name"))
	}
	errs = append(errs, validateReference(&spec.InfrastructureRef, r.templates, infrastructure)...)
	errs = append(errs, validateVersion(spec.Version, path.Child("version"))...)
	errs = append(errs, validateNotNegative(spec.MinReadySeconds, path.Child("minReadySeconds"))...)
	errs = append(errs, validateReadinessGates(spec.ReadinessGates, path.Child("readinessGates"))...)
	deletion := path.Child("deletion")
	errs = append(errs, validateNotNegative(spec.Deletion.NodeDrainTimeoutSeconds, deletion.Child("nodeDrainTimeoutSeconds"))...)
	errs = append(errs, validateNotNegative(spec.Deletion.NodeVolumeDetachTimeoutSeconds, deletion.Child("nodeVolumeDetachTimeoutSeconds"))...)
	errs = append(errs, validateNotNegative(spec.Deletion.NodeDeletionTimeoutSeconds, deletion.Child("nodeDeletionTimeoutSeconds"))...)
	return append(errs, validateTaints(spec.Taints, r, path.Child("taints"))...)
}

// validateBootstrap checks that a source of bootstrap data is set. As in Cluster API, an empty dataSecretName means
// that the machine does not need bootstrap data.
func validateBootstrap(bootstrap *clusterv1alpha1.Bootstrap, r machineRules, path *field.Path) field.ErrorList {
	if !bootstrap.ConfigRef.IsDefined() && bootstrap.DataSecretName == nil && !r.pooled {
		return field.ErrorList{field.Required(path, "must have dataSecretName, the name of a Secret, or configRef, an object whose controller creates the Secret")}
	}
	errs := validateReference(&bootstrap.ConfigRef, r.templates, path.Child("configRef"))
	if name := bootstrap.DataSecretName; name != nil {
		errs = append(errs, validateName(*name, path.Child("dataSecretName"))...)
	}
	return errs
}

// validateVersion checks an optional Kubernetes version.
func validateVersion(value string, path *field.Path) field.ErrorList {
	if value == "" {
		return nil
	}
	if _, err := version.ParseSemantic(value); err != nil || !strings.HasPrefix(value, "v") {
		return field.ErrorList{field.Invalid(path, value, "must be a semantic version, for example v1.36.3")}
	}
	return nil
}

func validateReadinessGates(gates []clusterv1alpha1.MachineReadinessGate, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, gate := range gates {
		at := path.Index(i)
		errs = append(errs, validateConditionType(gate.ConditionType, at.Child("conditionType"))...)
		if seen.Has(gate.ConditionType) {
			errs = append(errs, field.Duplicate(at.Child("conditionType"), gate.ConditionType))
		}
		seen.Insert(gate.ConditionType)
		errs = append(errs, validateEnum(gate.Polarity, at.Child("polarity"), clusterv1alpha1.PositivePolarityCondition, clusterv1alpha1.NegativePolarityCondition)...)
	}
	return errs
}

// controlPlaneTaint is the key of the taint of control plane machines.
const controlPlaneTaint = "node-role.kubernetes.io/control-plane"

func validateTaints(taints []clusterv1alpha1.MachineTaint, r machineRules, path *field.Path) field.ErrorList {
	type identity struct {
		key    string
		effect clusterv1alpha1.TaintEffect
	}
	var errs field.ErrorList
	seen := sets.New[identity]()
	for i, taint := range taints {
		at := path.Index(i)
		errs = append(errs, validateTaintKey(taint.Key, r, at.Child("key"))...)
		errs = append(errs, invalid(taint.Value, at.Child("value"), validation.IsValidLabelValue(taint.Value))...)
		errs = append(errs, validateRequiredEnum(taint.Effect, at.Child("effect"),
			clusterv1alpha1.TaintEffectNoSchedule, clusterv1alpha1.TaintEffectPreferNoSchedule, clusterv1alpha1.TaintEffectNoExecute)...)
		errs = append(errs, validateRequiredEnum(taint.Propagation, at.Child("propagation"),
			clusterv1alpha1.MachineTaintPropagationAlways, clusterv1alpha1.MachineTaintPropagationOnInitialization)...)
		id := identity{taint.Key, taint.Effect}
		if seen.Has(id) {
			errs = append(errs, field.Duplicate(at, fmt.Sprintf("%s:%s", taint.Key, taint.Effect)))
		}
		seen.Insert(id)
	}
	return errs
}

// validateTaintKey checks a key and rejects taints that are managed by other components.
func validateTaintKey(key string, r machineRules, path *field.Path) field.ErrorList {
	switch {
	case key == "":
		return field.ErrorList{field.Required(path, "must be the key of a taint")}
	case key == clusterv1alpha1.NodeUninitializedTaintKey, key == clusterv1alpha1.NodeOutdatedRevisionTaintKey:
		return field.ErrorList{field.Invalid(path, key, "is reserved: only the server sets and removes it")}
	case strings.HasPrefix(key, "node.kubernetes.io/") && key != "node.kubernetes.io/out-of-service":
		return field.ErrorList{field.Invalid(path, key, "must not begin with node.kubernetes.io/, except node.kubernetes.io/out-of-service: Kubernetes manages these taints")}
	case strings.HasPrefix(key, "node.cloudprovider.kubernetes.io/"):
		return field.ErrorList{field.Invalid(path, key, "must not begin with node.cloudprovider.kubernetes.io/: the cloud provider manages these taints")}
	case key == "node-role.kubernetes.io/master":
		return field.ErrorList{field.Invalid(path, key, "is not used since Kubernetes 1.24; use "+controlPlaneTaint)}
	case r.worker && key == controlPlaneTaint:
		return field.ErrorList{field.Invalid(path, key, "is for machines with the label "+clusterv1alpha1.MachineControlPlaneLabel+" alone")}
	}
	return invalid(key, path, validation.IsQualifiedName(key))
}
