// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// ValidateRefreshOptions checks the request body of refresh-instancetype and refresh-preference. name is the name of
// the virtual machine.
func ValidateRefreshOptions(options *vmv1alpha1.RefreshOptions, name string) field.ErrorList {
	return append(validateBodyName(&options.ObjectMeta, name),
		metav1validation.ValidateDryRun(field.NewPath("dryRun"), options.DryRun)...)
}

// ValidatePowerOptions checks the request body of a power subresource (start, stop, restart or suspend). name is the
// name of the virtual machine.
func ValidatePowerOptions(options *vmv1alpha1.PowerOptions, subresource, name string) field.ErrorList {
	errs := validateBodyName(&options.ObjectMeta, name)
	errs = append(errs, metav1validation.ValidateDryRun(field.NewPath("dryRun"), options.DryRun)...)
	path := field.NewPath("mode")
	if subresource == "start" && options.Mode != "" {
		return append(errs, field.Invalid(path, options.Mode, "must not be set for start"))
	}
	return append(errs, validateEnum(options.Mode, path, powerOpModes...)...)
}

// ValidateConsole checks the request body of console. name is the name of the virtual machine.
func ValidateConsole(console *vmv1alpha1.VirtualMachineConsole, name string) field.ErrorList {
	return validateBodyName(&console.ObjectMeta, name)
}

// ValidateExpandOptions checks the query parameters of expand-spec.
func ValidateExpandOptions(options *vmv1alpha1.ExpandOptions) field.ErrorList {
	return validateEnum(options.Generation, field.NewPath("generation"), "stored", "latest")
}

// validateBodyName checks that the name in a request body is empty or the name of the virtual machine.
func validateBodyName(meta *metav1.ObjectMeta, name string) field.ErrorList {
	if meta.Name == "" || meta.Name == name {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), meta.Name,
		fmt.Sprintf("must be empty or %s, the name of the virtual machine", name))}
}

// VirtualMachineWarnings returns warnings about fields that are deprecated or that vSphere does not support.
func VirtualMachineWarnings(spec *vmv1alpha1.VirtualMachineSpec, path *field.Path) []string {
	const noMeaning = "has no effect on vSphere; the value is stored but not applied"
	const deprecated = "deprecated; use controllerRevisionRef"
	devices := spec.Devices
	if devices == nil {
		devices = &vmv1alpha1.VirtualMachineDevices{}
	}
	var out []string
	for _, w := range []struct {
		set  bool
		path *field.Path
		text string
	}{
		{spec.Instancetype != nil && spec.Instancetype.RevisionName != "", path.Child("instancetype", "revisionName"), deprecated},
		{spec.Preference != nil && spec.Preference.RevisionName != "", path.Child("preference", "revisionName"), deprecated},
		{spec.CPU != nil && spec.CPU.Model != "", path.Child("cpu", "model"), noMeaning},
		{devices.Video != nil && !sets.New("", "svga").Has(devices.Video.Type), path.Child("devices", "video", "type"),
			"vSphere supports only svga; other types are stored but not applied"},
		{devices.TPM != nil && devices.TPM.Persistent != nil && !*devices.TPM.Persistent, path.Child("devices", "tpm", "persistent"),
			"vSphere always preserves the TPM state; false is stored but not applied"},
	} {
		if w.set {
			out = append(out, fmt.Sprintf("%s: %s", w.path, w.text))
		}
	}
	return out
}
