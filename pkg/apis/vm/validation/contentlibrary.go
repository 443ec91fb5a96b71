// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// ValidateContentLibrary checks a new ContentLibrary. Its name is used as a label value.
func ValidateContentLibrary(obj *vmv1alpha1.ContentLibrary) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&obj.ObjectMeta, false, validateLabelName, field.NewPath("metadata"))
	return append(errs, validateContentLibrarySpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateContentLibraryUpdate checks the change from old to obj. An unchanged spec is not validated, because it can be
// older than a rule.
func ValidateContentLibraryUpdate(obj, old *vmv1alpha1.ContentLibrary) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	path := field.NewPath("spec")
	errs = append(errs, validateContentLibrarySpec(&obj.Spec, path)...)
	for _, f := range []struct{ name, value, oldValue string }{
		{"library", obj.Spec.Library, old.Spec.Library},
		{"namespace", obj.Spec.Namespace, old.Spec.Namespace},
		{"nameTemplate", obj.Spec.NameTemplate, old.Spec.NameTemplate},
		{"vCenter", obj.Spec.VCenter, old.Spec.VCenter},
	} {
		if f.value != f.oldValue {
			errs = append(errs, field.Invalid(path.Child(f.name), f.value, fmt.Sprintf("is immutable; must stay %q", f.oldValue)))
		}
	}
	return errs
}

// ValidateContentLibraryStatusUpdate checks a change of status.
func ValidateContentLibraryStatusUpdate(obj, old *vmv1alpha1.ContentLibrary) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateConditions(obj.Status.Conditions, field.NewPath("status", "conditions"))...)
}

func validateContentLibrarySpec(spec *vmv1alpha1.ContentLibrarySpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if spec.Library == "" {
		errs = append(errs, field.Required(path.Child("library"), "must be the name of a content library"))
	}
	errs = append(errs, validateName(spec.VCenter, path.Child("vCenter"))...)
	errs = append(errs, validateSelector(spec.PublishFrom, path.Child("publishFrom"))...)
	if spec.Namespace != "" {
		errs = append(errs, invalid(spec.Namespace, path.Child("namespace"), apivalidation.ValidateNamespaceName(spec.Namespace, false))...)
	}
	for _, patterns := range []struct {
		name string
		of   []string
	}{{"include", spec.Include}, {"exclude", spec.Exclude}} {
		for i, pattern := range patterns.of {
			if pattern == "" {
				errs = append(errs, field.Required(path.Child(patterns.name).Index(i), "must be a name or a pattern with * and ?"))
			}
		}
	}
	errs = append(errs, validateNameTemplate(spec.NameTemplate, path.Child("nameTemplate"))...)
	for i := range spec.Defaults {
		errs = append(errs, validateContentLibraryDefault(&spec.Defaults[i], path.Child("defaults").Index(i))...)
	}
	return errs
}

// validateNameTemplate checks that a template generates a unique name for every item.
func validateNameTemplate(template string, path *field.Path) field.ErrorList {
	if template == "" {
		return nil
	}
	if !strings.Contains(template, "{item}") {
		return field.ErrorList{field.Invalid(path, template, "must contain {item}, so that the names of images are unique")}
	}
	name := strings.NewReplacer("{item}", "a", "{library}", "a").Replace(template)
	return invalid(template, path, apivalidation.NameIsDNSSubdomain(name, false))
}

func validateContentLibraryDefault(d *vmv1alpha1.ContentLibraryDefault, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if d.GuestID == "" {
		errs = append(errs, field.Required(path.Child("guestID"), "must be a vSphere guest ID or a pattern with * and ?"))
	}
	if d.Instancetype == "" && d.Preference == "" {
		errs = append(errs, field.Required(path, "at least one of instancetype, preference is required"))
	}
	errs = append(errs, validateName(d.Instancetype, path.Child("instancetype"))...)
	errs = append(errs, validateName(d.Preference, path.Child("preference"))...)
	errs = append(errs, validateEnum(d.InstancetypeKind, path.Child("instancetypeKind"), "VirtualMachineInstancetype", "VirtualMachineClusterInstancetype")...)
	return append(errs, validateEnum(d.PreferenceKind, path.Child("preferenceKind"), "VirtualMachinePreference", "VirtualMachineClusterPreference")...)
}
