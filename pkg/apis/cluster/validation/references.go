// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"regexp"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// maxKind is the maximum length of a kind (Cluster API's v1beta2).
const maxKind = 63

// kindFormat matches a kind (Cluster API's v1beta2).
var kindFormat = regexp.MustCompile(`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`)

// validateReference checks an optional reference. ofTemplate is true if it must refer to a template.
func validateReference(ref *clusterv1alpha1.ContractVersionedObjectReference, ofTemplate bool, path *field.Path) field.ErrorList {
	if !ref.IsDefined() {
		return nil
	}
	errs := validateKind(ref.Kind, ofTemplate, path.Child("kind"))
	errs = append(errs, validateReferenceName(ref.Name, path.Child("name"))...)
	group := path.Child("apiGroup")
	switch ref.APIGroup {
	case "":
		return append(errs, field.Required(group, "must be the API group of the kind, for example vm.slipway.dev"))
	case clusterv1alpha1.GroupName: // objects would own each other or themselves
		return append(errs, field.Invalid(group, ref.APIGroup, "must be the API group of an infrastructure or bootstrap object, for example vm.slipway.dev"))
	}
	return append(errs, invalid(ref.APIGroup, group, validation.IsDNS1123Subdomain(ref.APIGroup))...)
}

func validateKind(kind string, ofTemplate bool, path *field.Path) field.ErrorList {
	switch {
	case kind == "":
		return field.ErrorList{field.Required(path, "must be the kind of an object")}
	case len(kind) > maxKind:
		return field.ErrorList{field.TooLong(path, kind, maxKind)}
	case !kindFormat.MatchString(kind):
		return field.ErrorList{field.Invalid(path, kind, "must be letters, digits and -, begin with a letter and not end with -")}
	case ofTemplate && (!strings.HasSuffix(kind, clusterv1alpha1.TemplateSuffix) || kind == clusterv1alpha1.TemplateSuffix):
		return field.ErrorList{field.Invalid(path, kind, "must be the kind of a template, which ends in "+clusterv1alpha1.TemplateSuffix+", for example VirtualMachineTemplate")}
	}
	return nil
}

func validateReferenceName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "must be the name of an object in the namespace")}
	}
	return invalid(name, path, apivalidation.NameIsDNSSubdomain(name, false))
}

// validateRemediationTemplate checks the optional reference to a template of remediation requests.
func validateRemediationTemplate(ref *clusterv1alpha1.MachineHealthCheckRemediationTemplateReference, path *field.Path) field.ErrorList {
	if !ref.IsDefined() {
		return nil
	}
	errs := validateKind(ref.Kind, true, path.Child("kind"))
	errs = append(errs, validateReferenceName(ref.Name, path.Child("name"))...)
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil || len(validation.IsDNS1123Subdomain(version.Group)) > 0 || len(validation.IsDNS1035Label(version.Version)) > 0 {
		errs = append(errs, field.Invalid(path.Child("apiVersion"), ref.APIVersion, "must be the API group of the kind and a version, for example infrastructure.cluster.x-k8s.io/v1beta2"))
	}
	return errs
}
