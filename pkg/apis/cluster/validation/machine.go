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
	return append(validateMeta(&obj.ObjectMeta), validateMachineSpec(&obj.Spec, rulesFor(obj.Labels), field.NewPath("spec"))...)
}

// ValidateMachineUpdate checks the change from old to obj. An unchanged spec is not validated, unless the labels change
// the rules for the spec.
func ValidateMachineUpdate(obj, old *clusterv1alpha1.Machine) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) && rulesFor(obj.Labels) == rulesFor(old.Labels) {
		return errs
	}
	path := field.NewPath("spec")
	errs = append(errs, validateImmutable(obj.Spec.ClusterName, old.Spec.ClusterName, path.Child("clusterName"))...)
	return append(errs, validateMachineSpec(&obj.Spec, rulesFor(obj.Labels), path)...)
}

// machineRules are the properties of a machine on which the validation of its spec depends.
type machineRules struct {
	// worker is true for machines that do not belong to a control plane.
	worker bool
	// templates is true if references must refer to templates.
	templates bool
	// pooled is true for machines of a pool, which has the bootstrap data of all machines.
	pooled bool
}

// rulesFor returns the rules for a machine with the labels.
func rulesFor(labels map[string]string) machineRules {
	_, controlPlane := labels[clusterv1alpha1.MachineControlPlaneLabel]
	_, pooled := labels[clusterv1alpha1.MachinePoolNameLabel]
	return machineRules{worker: !controlPlane, pooled: pooled}
}
