// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/cluster/naming"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// maxReplicas is the maximum number of replicas. It equals the maximum number of targets of a health check. Kubernetes
// supports half as many nodes in a cluster.
const maxReplicas = 10_000

// validateReplicas checks an optional number of replicas.
func validateReplicas(replicas *int32, path *field.Path) field.ErrorList {
	if replicas == nil || *replicas >= 0 && *replicas <= maxReplicas {
		return nil
	}
	return field.ErrorList{field.Invalid(path, *replicas, fmt.Sprintf("must be from 0 to %d", maxReplicas))}
}

// validateTemplate checks a template of machines.
func validateTemplate(template *clusterv1alpha1.MachineTemplateSpec, clusterName string, path *field.Path) field.ErrorList {
	meta, spec := path.Child("metadata"), path.Child("spec")
	errs := metav1validation.ValidateLabels(template.Metadata.Labels, meta.Child("labels"))
	errs = append(errs, apivalidation.ValidateAnnotations(template.Metadata.Annotations, meta.Child("annotations"))...)
	r := rulesFor(template.Metadata.Labels)
	r.templates, r.pooled = true, false
	errs = append(errs, validateMachineSpec(&template.Spec, r, spec)...)
	if name := template.Spec.ClusterName; name != "" && name != clusterName {
		errs = append(errs, field.Invalid(spec.Child("clusterName"), name, fmt.Sprintf("must be %q, the value of spec.clusterName", clusterName)))
	}
	if template.Spec.ProviderID != "" {
		errs = append(errs, field.Forbidden(spec.Child("providerID"), "must not be set in a template, because its value is specific to one machine"))
	}
	return errs
}

// validateTemplateSelector checks that a selector is valid and matches the labels of the template.
func validateTemplateSelector(selector *metav1.LabelSelector, template *clusterv1alpha1.MachineTemplateSpec, path *field.Path) field.ErrorList {
	at := path.Child("selector")
	if errs := validateSelector(selector, at); len(errs) > 0 {
		return errs
	}
	if len(selector.MatchLabels) == 0 && len(selector.MatchExpressions) == 0 {
		return field.ErrorList{field.Required(at, "must select machines by label: an empty selector would select the machines of all clusters")}
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return field.ErrorList{field.Invalid(at, field.OmitValueType{}, err.Error())}
	}
	templateLabels := template.Metadata.Labels
	if parsed.Matches(labels.Set(templateLabels)) {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("template", "metadata", "labels"), labels.Set(maps.Clone(templateLabels)).String(),
		fmt.Sprintf("must match spec.selector, %s", parsed))}
}

// validateNaming checks the template for machine names.
func validateNaming(spec *clusterv1alpha1.MachineNamingSpec, path *field.Path) field.ErrorList {
	if spec.Template == "" {
		return nil
	}
	at := path.Child("template")
	name, err := naming.MachineName(spec.Template, "cluster", "set", "bcdfg")
	if err != nil {
		return field.ErrorList{field.Invalid(at, spec.Template, err.Error())}
	}
	var errs field.ErrorList
	for _, message := range apivalidation.NameIsDNSSubdomain(name, false) {
		errs = append(errs, field.Invalid(at, spec.Template, fmt.Sprintf("produces invalid names such as %s: %s", name, message)))
	}
	return errs
}
