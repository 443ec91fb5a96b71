// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	vmvalidation "github.com/slipway-dev/slipway/pkg/apis/vm/validation"
)

// maxCIDR is the maximum length of a CIDR range in text form.
const maxCIDR = 43

// ValidateCluster checks a new cluster. Its name is used as a label value. A cluster without references is valid: its
// infrastructure and control plane are managed elsewhere.
func ValidateCluster(obj *clusterv1alpha1.Cluster) field.ErrorList {
	errs := validateMeta(&obj.ObjectMeta)
	if obj.Name != "" {
		errs = append(errs, validateLabelName(obj.Name, field.NewPath("metadata", "name"))...)
	}
	return append(errs, validateClusterSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateClusterUpdate checks the change from old to obj. An unchanged spec is not validated.
func ValidateClusterUpdate(obj, old *clusterv1alpha1.Cluster) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	path := field.NewPath("spec")
	if old.Spec.InfrastructureRef.IsDefined() && !obj.Spec.InfrastructureRef.IsDefined() {
		errs = append(errs, field.Forbidden(path.Child("infrastructureRef"), "cannot be removed"))
	}
	if old.Spec.ControlPlaneRef.IsDefined() && !obj.Spec.ControlPlaneRef.IsDefined() {
		errs = append(errs, field.Forbidden(path.Child("controlPlaneRef"), "cannot be removed"))
	}
	return append(errs, validateClusterSpec(&obj.Spec, path)...)
}

func validateClusterSpec(spec *clusterv1alpha1.ClusterSpec, path *field.Path) field.ErrorList {
	errs := validateReference(&spec.InfrastructureRef, false, path.Child("infrastructureRef"))
	errs = append(errs, validateReference(&spec.ControlPlaneRef, false, path.Child("controlPlaneRef"))...)
	errs = append(errs, vmvalidation.ValidateEndpoint(spec.ControlPlaneEndpoint.Host, spec.ControlPlaneEndpoint.Port, path.Child("controlPlaneEndpoint"))...)
	network := path.Child("clusterNetwork")
	if port := spec.ClusterNetwork.APIServerPort; port < 0 || port > 65535 {
		errs = append(errs, field.Invalid(network.Child("apiServerPort"), port, "must be from 1 to 65535, or 0 for the default"))
	}
	errs = append(errs, validateRanges(spec.ClusterNetwork.Services.CIDRBlocks, network.Child("services", "cidrBlocks"))...)
	errs = append(errs, validateRanges(spec.ClusterNetwork.Pods.CIDRBlocks, network.Child("pods", "cidrBlocks"))...)
	return append(errs, validateName(spec.ClusterNetwork.ServiceDomain, network.Child("serviceDomain"))...)
}

// validateRanges checks CIDR ranges.
func validateRanges(ranges []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, cidr := range ranges {
		at := path.Index(i)
		if len(cidr) > maxCIDR {
			errs = append(errs, field.TooLong(at, cidr, maxCIDR))
			continue
		}
		errs = append(errs, validation.IsValidCIDR(at, cidr)...)
	}
	return errs
}
