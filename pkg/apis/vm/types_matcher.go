// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

// InferFromVolumeFailurePolicy says what happens when nothing can be inferred
// from the named volume.
type InferFromVolumeFailurePolicy string

const (
	// InferFromVolumeFailureReject refuses to go on.
	InferFromVolumeFailureReject InferFromVolumeFailurePolicy = "Reject"
	// InferFromVolumeFailureIgnore goes on as if there were no matcher.
	InferFromVolumeFailureIgnore InferFromVolumeFailurePolicy = "Ignore"
)

// ControllerRevisionRef refers to a ControllerRevision of the same namespace.
type ControllerRevisionRef struct {
	// Name of the ControllerRevision.
	Name string
}

// InstancetypeMatcher refers to an instance type.
type InstancetypeMatcher struct {
	// Name of the instance type. One of name and inferFromVolume is required.
	Name string
	// Kind of the instance type, in any letter case, singular or plural:
	// VirtualMachineInstancetype or VirtualMachineClusterInstancetype.
	// Omitted, it means VirtualMachineClusterInstancetype.
	Kind string
	// RevisionName pins a ControllerRevision. Deprecated: use controllerRevisionRef.
	RevisionName string
	// ControllerRevisionRef pins the ControllerRevision that holds the instance
	// type. The controller never sets it.
	ControllerRevisionRef *ControllerRevisionRef
	// InferFromVolume names a volume, or "image" for the boot image, whose
	// labels name the instance type. The result goes to status only.
	InferFromVolume string
	// InferFromVolumeFailurePolicy is Reject or Ignore. Reject when omitted.
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy
}

// PreferenceMatcher refers to a preference.
type PreferenceMatcher struct {
	// Name of the preference. One of name and inferFromVolume is required.
	Name string
	// Kind of the preference, in any letter case, singular or plural:
	// VirtualMachinePreference or VirtualMachineClusterPreference. Omitted, it
	// means VirtualMachineClusterPreference.
	Kind string
	// RevisionName pins a ControllerRevision. Deprecated: use controllerRevisionRef.
	RevisionName string
	// ControllerRevisionRef pins the ControllerRevision that holds the
	// preference. The controller never sets it.
	ControllerRevisionRef *ControllerRevisionRef
	// InferFromVolume names a volume, or "image" for the boot image, whose
	// labels name the preference. The result goes to status only.
	InferFromVolume string
	// InferFromVolumeFailurePolicy is Reject or Ignore. Reject when omitted.
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy
}

// InstancetypeRef records which instance type a virtual machine uses, and in
// which revision.
type InstancetypeRef struct {
	// Name of the instance type. Empty when nothing could be inferred under the
	// policy Ignore, which stays so until a refresh.
	Name string
	// Kind in canonical form: virtualmachineinstancetype or
	// virtualmachineclusterinstancetype.
	Kind string
	// ControllerRevisionRef refers to the captured copy. Absent between a
	// refresh and the next capture.
	ControllerRevisionRef *ControllerRevisionRef
	// SourceUID is the UID of the captured object.
	SourceUID string
	// SourceGeneration is the generation of the captured object.
	SourceGeneration int64
	// LatestGeneration is the generation that the live object has now; 0 when
	// the live object is gone.
	LatestGeneration int64
	// Outdated is true when the live object differs in UID or generation from
	// the captured one.
	Outdated bool
	// InferFromVolume is the volume that the instance type was inferred from.
	InferFromVolume string
	// InferFromVolumeFailurePolicy mirrors the spec.
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy
	// Resources is the size that the captured copy resolves to.
	Resources *VirtualMachineResources
}

// PreferenceRef records which preference a virtual machine uses, and in which
// revision.
type PreferenceRef struct {
	// Name of the preference. Empty when nothing could be inferred under the
	// policy Ignore, which stays so until a refresh.
	Name string
	// Kind in canonical form: virtualmachinepreference or
	// virtualmachineclusterpreference.
	Kind string
	// ControllerRevisionRef refers to the captured copy. Absent between a
	// refresh and the next capture.
	ControllerRevisionRef *ControllerRevisionRef
	// SourceUID is the UID of the captured object.
	SourceUID string
	// SourceGeneration is the generation of the captured object.
	SourceGeneration int64
	// LatestGeneration is the generation that the live object has now; 0 when
	// the live object is gone.
	LatestGeneration int64
	// Outdated is true when the live object differs in UID or generation from
	// the captured one.
	Outdated bool
	// InferFromVolume is the volume that the preference was inferred from.
	InferFromVolume string
	// InferFromVolumeFailurePolicy mirrors the spec.
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy
	// Resources is the size that the captured copy was applied to.
	Resources *VirtualMachineResources
}
