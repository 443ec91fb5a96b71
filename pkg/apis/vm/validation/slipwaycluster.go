// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// maxFailureDomains is the maximum number of failure domains in a status (Cluster API's v1beta2).
const maxFailureDomains = 100

// ValidateSlipwayCluster checks a new SlipwayCluster.
func ValidateSlipwayCluster(obj *vmv1alpha1.SlipwayCluster) field.ErrorList {
	return append(validateMeta(&obj.ObjectMeta), validateSlipwayClusterSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateSlipwayClusterUpdate checks the change from old to obj. An unchanged spec is not validated.
func ValidateSlipwayClusterUpdate(obj, old *vmv1alpha1.SlipwayCluster) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	return append(errs, validateSlipwayClusterSpec(&obj.Spec, field.NewPath("spec"))...)
}

func validateSlipwayClusterSpec(spec *vmv1alpha1.SlipwayClusterSpec, path *field.Path) field.ErrorList {
	errs := ValidateEndpoint(spec.ControlPlaneEndpoint.Host, spec.ControlPlaneEndpoint.Port, path.Child("controlPlaneEndpoint"))
	seen := sets.New[string]()
	for i, zone := range spec.Zones {
		at := path.Child("zones").Index(i)
		errs = append(errs, validateRequiredName(zone, at)...)
		if seen.Has(zone) {
			errs = append(errs, field.Duplicate(at, zone))
		}
		seen.Insert(zone)
	}
	return errs
}

// ValidateSlipwayClusterStatusUpdate checks a change of status.
func ValidateSlipwayClusterStatusUpdate(obj, old *vmv1alpha1.SlipwayCluster) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status")
	errs = append(errs, validateConditions(obj.Status.Conditions, path.Child("conditions"))...)
	domains := path.Child("failureDomains")
	if n := len(obj.Status.FailureDomains); n > maxFailureDomains {
		return append(errs, field.TooMany(domains, n, maxFailureDomains))
	}
	for i := range obj.Status.FailureDomains {
		errs = append(errs, bounds.ValidateSpec(&obj.Status.FailureDomains[i], domains.Index(i))...)
	}
	return errs
}

// ValidateEndpoint checks the endpoint of a cluster's API server. Both parts are optional.
func ValidateEndpoint(host string, port int32, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if port != 0 {
		errs = append(errs, validateRange(int64(port), 1, 65535, path.Child("port"))...)
	}
	dns := strings.ToLower(strings.TrimSuffix(host, "."))
	if host != "" && len(validation.IsValidIP(path, host)) > 0 && len(validation.IsDNS1123Subdomain(dns)) > 0 {
		errs = append(errs, field.Invalid(path.Child("host"), host, "must be an IP address or a DNS name"))
	}
	return errs
}
