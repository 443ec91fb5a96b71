// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// ValidateMachine checks a new machine.
func ValidateMachine(obj *clusterv1alpha1.Machine) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta), validateMachineSpec(&obj.Spec, machineRules(obj.Labels), field.NewPath("spec"))...)
}

// ValidateMachineUpdate checks the change from old to obj. A spec that did not change is not
// looked at, unless the labels now say that it is another sort of machine.
func ValidateMachineUpdate(obj, old *clusterv1alpha1.Machine) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) && machineRules(obj.Labels) == machineRules(old.Labels) {
		return errs
	}
	path := field.NewPath("spec")
	errs = append(errs, validateImmutable(obj.Spec.ClusterName, old.Spec.ClusterName, path.Child("clusterName"))...)
	return append(errs, validateMachineSpec(&obj.Spec, machineRules(obj.Labels), path)...)
}

// rules are those in which the specs of machines differ.
type rules struct {
	// worker is true for machines that are no part of a control plane.
	worker bool
	// templates is true where references name what others are made from.
	templates bool
	// pooled is true for machines whose pool has the bootstrap data of all.
	pooled bool
}

// machineRules are those of a machine with labels.
func machineRules(labels map[string]string) rules {
	_, controlPlane := labels[clusterv1alpha1.MachineControlPlaneLabel]
	_, pooled := labels[clusterv1alpha1.MachinePoolNameLabel]
	return rules{worker: !controlPlane, pooled: pooled}
}
