// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// maxLabelName is the maximum length of a label value in Kubernetes.
const maxLabelName = 63

// ValidateZone checks a new Zone.
func ValidateZone(obj *vmv1alpha1.Zone) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&obj.ObjectMeta, false, validateLabelName, field.NewPath("metadata"))
	return append(errs, validateZoneSpec(&obj.Spec, field.NewPath("spec"))...)
}

// ValidateZoneUpdate checks the change from old to obj. An unchanged spec is not validated, because it can be older
// than a rule.
func ValidateZoneUpdate(obj, old *vmv1alpha1.Zone) field.ErrorList {
	errs := validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	path := field.NewPath("spec")
	errs = append(errs, validateZoneSpec(&obj.Spec, path)...)
	if vCenter, oldVCenter := obj.VCenterName(), old.VCenterName(); vCenter != oldVCenter {
		errs = append(errs, field.Invalid(path.Child("vCenter"), vCenter, fmt.Sprintf("is immutable; must stay %q", oldVCenter)))
	}
	if old.Spec.Datacenter != "" {
		errs = append(errs, validateImmutable(obj.Spec.Datacenter, old.Spec.Datacenter, path.Child("datacenter"))...)
	}
	return append(errs, validateImmutable(obj.Spec.Folder, old.Spec.Folder, path.Child("folder"))...)
}

// ValidateZoneStatusUpdate checks a change of status.
func ValidateZoneStatusUpdate(obj, old *vmv1alpha1.Zone) field.ErrorList {
	return append(validateMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta),
		validateConditions(obj.Status.Conditions, field.NewPath("status", "conditions"))...)
}

// validateLabelName checks a name that is used as a label value.
func validateLabelName(name string, prefix bool) []string {
	messages := apivalidation.NameIsDNSSubdomain(name, prefix)
	if len(name) > maxLabelName {
		messages = append(messages, fmt.Sprintf("must be at most %d characters, because it is used as a label value", maxLabelName))
	}
	return messages
}

func validateZoneSpec(spec *vmv1alpha1.ZoneSpec, path *field.Path) field.ErrorList {
	errs := validateName(spec.VCenter, path.Child("vCenter"))
	if spec.Folder == "" {
		errs = append(errs, field.Required(path.Child("folder"), "must be the inventory path of a folder, or its path relative to the VM folder of the datacenter"))
	}
	var given []string
	if spec.Cluster != "" {
		given = append(given, "cluster")
	}
	if len(spec.ResourcePools) > 0 {
		given = append(given, "resourcePools")
	}
	errs = append(errs, validateExactlyOne(given, "cluster, resourcePools", path)...)
	errs = append(errs, validateSet(spec.ResourcePools, path.Child("resourcePools"))...)
	errs = append(errs, validateZoneNetworks(spec, path)...)
	errs = append(errs, validateZoneStorage(&spec.Storage, path.Child("storage"))...)
	seen := sets.New[string]()
	for i, d := range spec.Devices {
		at := path.Child("devices").Index(i)
		errs = append(errs, validateEntry(d.DeviceName, seen, at.Child("deviceName"))...)
		errs = append(errs, validateSelector(d.NamespaceSelector, at.Child("namespaceSelector"))...)
	}
	return append(errs, validateSelector(spec.NamespaceSelector, path.Child("namespaceSelector"))...)
}

func validateZoneNetworks(spec *vmv1alpha1.ZoneSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i, n := range spec.Networks {
		at := path.Child("networks").Index(i)
		errs = append(errs, validateEntry(n.Name, names, at.Child("name"))...)
		if n.Network == "" {
			errs = append(errs, field.Required(at.Child("network"), "must be the name or the inventory path of a network"))
		}
		errs = append(errs, validateSelector(n.NamespaceSelector, at.Child("namespaceSelector"))...)
	}
	if spec.DefaultNetwork != "" && !names.Has(spec.DefaultNetwork) {
		errs = append(errs, field.Invalid(path.Child("defaultNetwork"), spec.DefaultNetwork, "must be the name of an entry of networks"))
	}
	return errs
}

func validateZoneStorage(storage *vmv1alpha1.ZoneStorage, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if storage.Policy == "" && len(storage.Datastores) == 0 {
		errs = append(errs, field.Required(path, "at least one of policy, datastores is required"))
	}
	errs = append(errs, validateSet(storage.Datastores, path.Child("datastores"))...)
	seen := sets.New[string]()
	for i, c := range storage.Classes {
		at := path.Child("classes").Index(i)
		errs = append(errs, validateEntry(c.Name, seen, at.Child("name"))...)
		errs = append(errs, validateName(c.Name, at.Child("name"))...)
		errs = append(errs, validateSet(c.Datastores, at.Child("datastores"))...)
	}
	return errs
}

// validateSet checks names of vSphere objects and that none is listed twice.
func validateSet(names []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, name := range names {
		errs = append(errs, validateEntry(name, seen, path.Index(i))...)
	}
	return errs
}

// validateEntry checks the name of a vSphere object and adds it to seen. * is allowed only in flags.
func validateEntry(name string, seen sets.Set[string], path *field.Path) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, "must not be empty")}
	case name == "*":
		return field.ErrorList{field.Invalid(path, name, "must be a name: * is allowed only in flags of the server")}
	case seen.Has(name):
		return field.ErrorList{field.Duplicate(path, name)}
	}
	seen.Insert(name)
	return nil
}

func validateSelector(selector *metav1.LabelSelector, path *field.Path) field.ErrorList {
	if selector == nil {
		return nil
	}
	return metav1validation.ValidateLabelSelector(selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

// validateZoneUnchanged checks that a virtual machine that is in a zone stays in it.
func validateZoneUnchanged(obj, old *vmv1alpha1.VirtualMachine) field.ErrorList {
	requested, oldRequested, current := obj.Spec.Zone, old.Spec.Zone, old.Status.Zone
	if current == "" || requested == oldRequested || requested == current {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("spec", "zone"), requested, fmt.Sprintf("is immutable: the virtual machine is in zone %q", current))}
}
