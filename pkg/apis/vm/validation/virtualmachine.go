// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// maxVMName is the maximum length of a virtual machine name in vSphere, in characters.
const maxVMName = 80

// ValidateVirtualMachine checks a new virtual machine.
func ValidateVirtualMachine(obj *vmv1alpha1.VirtualMachine) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&obj.ObjectMeta, true, validateVMName, field.NewPath("metadata"))
	errs = append(errs, validateAnnotations(obj, nil)...)
	errs = append(errs, validateChecks(obj.Annotations, nil)...)
	errs = append(errs, validateFastDeploy(obj.Annotations, nil)...)
	errs = append(errs, validateRecovered(obj)...)
	errs = append(errs, ValidateVirtualMachineSpec(&obj.Spec, field.NewPath("spec"))...)
	errs = append(errs, validateNotItself(obj, field.NewPath("spec"))...)
	return append(errs, validateNewBIOSUUID(obj.Spec.Firmware, field.NewPath("spec", "firmware", "uuid"))...)
}

// ValidateVirtualMachineUpdate checks the change from old to obj. An unchanged spec is not validated.
func ValidateVirtualMachineUpdate(obj, old *vmv1alpha1.VirtualMachine) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	errs = append(errs, validateAnnotations(obj, old)...)
	errs = append(errs, validateChecks(obj.Annotations, old.Annotations)...)
	errs = append(errs, validateFastDeploy(obj.Annotations, old.Annotations)...)
	if apiequality.Semantic.DeepEqual(obj.Spec, old.Spec) {
		return errs
	}
	path := field.NewPath("spec")
	errs = append(errs, ValidateVirtualMachineSpec(&obj.Spec, path)...)
	errs = append(errs, validateNotItself(obj, path)...)
	errs = append(errs, validateZoneUnchanged(obj, old)...)
	if old.Spec.CurrentSnapshotName != "" && obj.Spec.CurrentSnapshotName == "" {
		// A revert restores a spec that was valid when it was written. Disks can be smaller in that spec. Admission
		// rejects other changes in a request that cancels a revert.
		return append(errs, validateIdentity(&obj.Spec, &old.Spec, path)...)
	}
	errs = append(errs, validateStorageUpdate(obj, old, path)...)
	return append(errs, validateSpecUpdate(&obj.Spec, &old.Spec, path)...)
}

// ValidateVirtualMachineStatusUpdate checks a change of status from old to obj.
func ValidateVirtualMachineStatusUpdate(obj, old *vmv1alpha1.VirtualMachine) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaUpdate(&obj.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata"))
	path := field.NewPath("status")
	errs = append(errs, validateEnum(obj.Status.PowerState, path.Child("powerState"), powerStates...)...)
	errs = append(errs, validateEnum(obj.Status.InheritedPowerState, path.Child("inheritedPowerState"), powerStates...)...)
	errs = append(errs, validateEnum(obj.Status.Phase, path.Child("phase"),
		vmv1alpha1.PhasePending, vmv1alpha1.PhaseCreating, vmv1alpha1.PhaseStarting, vmv1alpha1.PhaseRunning, vmv1alpha1.PhaseStopping,
		vmv1alpha1.PhaseStopped, vmv1alpha1.PhaseSuspended, vmv1alpha1.PhaseDeleting, vmv1alpha1.PhaseFailed, vmv1alpha1.PhaseUnknown)...)
	if !apiequality.Semantic.DeepEqual(obj.Status.Network, old.Status.Network) {
		errs = append(errs, bounds.ValidateSpec(obj.Status.Network, path.Child("network"))...)
	}
	errs = append(errs, validateGuest(obj.Status.Guest, old.Status.Guest, path.Child("guest"))...)
	return append(errs, validateConditions(obj.Status.Conditions, path.Child("conditions"))...)
}

// validateGuest checks the text that a guest reports, unless it did not change.
func validateGuest(guest, old *vmv1alpha1.VirtualMachineGuestStatus, path *field.Path) field.ErrorList {
	if apiequality.Semantic.DeepEqual(guest, old) {
		return nil
	}
	return bounds.ValidateSpec(guest, path)
}

// validateAnnotations checks annotations that have a format, unless their value did not change. old can be nil.
func validateAnnotations(obj, old *vmv1alpha1.VirtualMachine) field.ErrorList {
	const key = vmv1alpha1.AnnotationDelayedPowerOn
	value, ok := obj.Annotations[key]
	if !ok {
		return nil
	}
	if old != nil {
		if before, had := old.Annotations[key]; had && before == value {
			return nil
		}
	}
	return validateTime(value, "", field.NewPath("metadata", "annotations").Key(key))
}

// validateFastDeploy checks the annotation with the fast deploy mode, unless it did not change.
func validateFastDeploy(annotations, old map[string]string) field.ErrorList {
	const key = vmv1alpha1.AnnotationFastDeploy
	value, ok := annotations[key]
	before, had := old[key]
	if !ok || had && before == value || slices.Contains(vmv1alpha1.FastDeployModes, vmv1alpha1.FastDeployMode(value)) {
		return nil
	}
	return field.ErrorList{field.NotSupported(field.NewPath("metadata", "annotations").Key(key), vmv1alpha1.FastDeployMode(value), vmv1alpha1.FastDeployModes)}
}

// validateRecovered checks the annotation of a recovered virtual machine. A client that sets it must also set the UID
// and generation of the lost object.
func validateRecovered(obj *vmv1alpha1.VirtualMachine) field.ErrorList {
	const key = vmv1alpha1.AnnotationRecovered
	value, ok := obj.Annotations[key]
	if !ok || value == string(obj.UID) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(key), value,
		"must be the UID of the lost virtual machine, a lower-case UUID, and metadata.generation must be at least 1")}
}

// validateVMName checks a name that must be valid in Kubernetes and in vSphere.
func validateVMName(name string, prefix bool) []string {
	messages := apivalidation.NameIsDNSSubdomain(name, prefix)
	if len(name) > maxVMName {
		messages = append(messages, fmt.Sprintf("must be at most %d characters, the maximum in vSphere", maxVMName))
	}
	if strings.ContainsAny(name, `/\%`) {
		messages = append(messages, `must not contain /, \ or %, which vSphere would escape`)
	}
	return messages
}

// ValidateVirtualMachineSpec checks a spec on its own.
func ValidateVirtualMachineSpec(spec *vmv1alpha1.VirtualMachineSpec, path *field.Path) field.ErrorList {
	errs := validateSizeSource(spec, path)
	errs = append(errs, validateCPU(spec.CPU, path.Child("cpu"))...)
	errs = append(errs, ValidateMemory(spec.Memory, path.Child("memory"))...)
	errs = append(errs, validateInstancetypeMatcher(spec.Instancetype, spec.Volumes, path.Child("instancetype"))...)
	errs = append(errs, validatePreferenceMatcher(spec.Preference, spec.Volumes, path.Child("preference"))...)
	errs = append(errs, validateImageRef(spec.Image, path.Child("image"), vmv1alpha1.MachineImageKind)...)
	errs = append(errs, validatePower(spec, path)...)
	errs = append(errs, validateNetwork(spec.Network, path.Child("network"))...)
	errs = append(errs, validateVolumes(spec.Volumes, path.Child("volumes"))...)
	errs = append(errs, validateBootDisk(spec.BootDisk, path.Child("bootDisk"))...)
	errs = append(errs, validateBootOrder(spec, path.Child("bootOrder"))...)
	errs = append(errs, validateBootstrap(spec.Bootstrap, path.Child("bootstrap"))...)
	errs = append(errs, validateFirmware(spec.Firmware, path.Child("firmware"))...)
	errs = append(errs, validateDevices(spec.Devices, path.Child("devices"))...)
	errs = append(errs, validateTPM(spec.Devices, spec.Firmware, path.Child("devices", "tpm"))...)
	errs = append(errs, validateProbe(spec.ReadinessProbe, path.Child("readinessProbe"))...)
	errs = append(errs, validateHardwareVersion(spec.MinHardwareVersion, path.Child("minHardwareVersion"))...)
	errs = append(errs, validateGuestID(spec.GuestID, path.Child("guestID"))...)
	errs = append(errs, validateName(spec.ClassName, path.Child("className"))...)
	errs = append(errs, validateName(spec.StorageClass, path.Child("storageClass"))...)
	errs = append(errs, validateName(spec.Zone, path.Child("zone"))...)
	errs = append(errs, validateName(spec.GroupName, path.Child("groupName"))...)
	errs = append(errs, validateName(spec.CurrentSnapshotName, path.Child("currentSnapshotName"))...)
	return append(errs, validateUUID(spec.InstanceUUID, path.Child("instanceUUID"))...)
}

// validateImageRef checks an image reference. others are additional allowed kinds.
func validateImageRef(ref *vmv1alpha1.VirtualMachineImageRef, path *field.Path, others ...string) field.ErrorList {
	if ref == nil {
		return nil
	}
	errs := validateRequiredName(ref.Name, path.Child("name"))
	if ref.Snapshot != "" && ref.Kind != vmv1alpha1.MachineImageKind {
		errs = append(errs, field.Forbidden(path.Child("snapshot"), "can be set only for an image of kind VirtualMachine"))
	}
	kinds := append([]string{vmv1alpha1.ImageKind, vmv1alpha1.ClusterImageKind}, others...)
	return append(errs, validateEnum(ref.Kind, path.Child("kind"), kinds...)...)
}

// validateNotItself rejects a virtual machine that is a clone of itself.
func validateNotItself(vm *vmv1alpha1.VirtualMachine, path *field.Path) field.ErrorList {
	ref := vm.Spec.Image
	if ref == nil || ref.Kind != vmv1alpha1.MachineImageKind || ref.Name == "" || ref.Name != vm.Name {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("image", "name"), ref.Name, "must not be the virtual machine itself")}
}

// imageText describes an image reference for an error.
func imageText(ref *vmv1alpha1.VirtualMachineImageRef) string {
	if ref.Snapshot != "" {
		return ref.Kind + "/" + ref.Name + " at snapshot " + ref.Snapshot
	}
	return ref.Kind + "/" + ref.Name
}

// validateSpecUpdate checks that immutable fields do not change.
func validateSpecUpdate(spec, old *vmv1alpha1.VirtualMachineSpec, path *field.Path) field.ErrorList {
	errs := validateIdentity(spec, old, path)
	errs = append(errs, validateMatcherUpdate(instancetypeMatcher(spec.Instancetype), instancetypeMatcher(old.Instancetype), path.Child("instancetype"))...)
	return append(errs, validateMatcherUpdate(preferenceMatcher(spec.Preference), preferenceMatcher(old.Preference), path.Child("preference"))...)
}

// validateIdentity rejects changes of fields that identify the virtual machine or its image.
func validateIdentity(spec, old *vmv1alpha1.VirtualMachineSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if old.Image != nil && !apiequality.Semantic.DeepEqual(spec.Image, old.Image) {
		given := "nothing"
		if spec.Image != nil {
			given = imageText(spec.Image)
		}
		errs = append(errs, field.Invalid(path.Child("image"), given, "is immutable once set; must stay "+imageText(old.Image)))
	}
	if old.Firmware != nil {
		var uuid string
		if spec.Firmware != nil {
			uuid = spec.Firmware.UUID
		}
		errs = append(errs, validateImmutable(uuid, old.Firmware.UUID, path.Child("firmware", "uuid"))...)
	}
	if spec.InstanceUUID != old.InstanceUUID {
		errs = append(errs, field.Invalid(path.Child("instanceUUID"), spec.InstanceUUID,
			fmt.Sprintf("is immutable; must stay %q", old.InstanceUUID)))
	}
	return append(errs, validateImmutable(spec.ProviderID, old.ProviderID, path.Child("providerID"))...)
}
