// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// InferFromVolumeFailurePolicy says what happens when nothing can be inferred
// from the named volume.
// +enum
type InferFromVolumeFailurePolicy string

const (
	// InferFromVolumeFailureReject refuses to go on.
	InferFromVolumeFailureReject InferFromVolumeFailurePolicy = "Reject"
	// InferFromVolumeFailureIgnore goes on as if there were no matcher.
	InferFromVolumeFailureIgnore InferFromVolumeFailurePolicy = "Ignore"
)

// ControllerRevisionRef refers to a ControllerRevision of the same namespace.
type ControllerRevisionRef struct {
	// name of the ControllerRevision.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// InstancetypeMatcher refers to an instance type.
type InstancetypeMatcher struct {
	// name of the instance type. One of name and inferFromVolume is required.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// kind of the instance type, in any letter case, singular or plural:
	// VirtualMachineInstancetype or VirtualMachineClusterInstancetype.
	// Omitted, it means VirtualMachineClusterInstancetype.
	// +optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,2,opt,name=kind"`
	// revisionName pins a ControllerRevision. Deprecated: use controllerRevisionRef.
	// +optional
	RevisionName string `json:"revisionName,omitempty" protobuf:"bytes,3,opt,name=revisionName"`
	// controllerRevisionRef pins the ControllerRevision that holds the instance
	// type. The controller never sets it.
	// +optional
	ControllerRevisionRef *ControllerRevisionRef `json:"controllerRevisionRef,omitempty" protobuf:"bytes,4,opt,name=controllerRevisionRef"`
	// inferFromVolume names a volume, or "image" for the boot image, whose
	// labels name the instance type. The result goes to status only.
	// +optional
	InferFromVolume string `json:"inferFromVolume,omitempty" protobuf:"bytes,5,opt,name=inferFromVolume"`
	// inferFromVolumeFailurePolicy is Reject or Ignore. Reject when omitted.
	// +optional
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy `json:"inferFromVolumeFailurePolicy,omitempty" protobuf:"bytes,6,opt,name=inferFromVolumeFailurePolicy,casttype=InferFromVolumeFailurePolicy"`
}

// PreferenceMatcher refers to a preference.
type PreferenceMatcher struct {
	// name of the preference. One of name and inferFromVolume is required.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// kind of the preference, in any letter case, singular or plural:
	// VirtualMachinePreference or VirtualMachineClusterPreference. Omitted, it
	// means VirtualMachineClusterPreference.
	// +optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,2,opt,name=kind"`
	// revisionName pins a ControllerRevision. Deprecated: use controllerRevisionRef.
	// +optional
	RevisionName string `json:"revisionName,omitempty" protobuf:"bytes,3,opt,name=revisionName"`
	// controllerRevisionRef pins the ControllerRevision that holds the
	// preference. The controller never sets it.
	// +optional
	ControllerRevisionRef *ControllerRevisionRef `json:"controllerRevisionRef,omitempty" protobuf:"bytes,4,opt,name=controllerRevisionRef"`
	// inferFromVolume names a volume, or "image" for the boot image, whose
	// labels name the preference. The result goes to status only.
	// +optional
	InferFromVolume string `json:"inferFromVolume,omitempty" protobuf:"bytes,5,opt,name=inferFromVolume"`
	// inferFromVolumeFailurePolicy is Reject or Ignore. Reject when omitted.
	// +optional
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy `json:"inferFromVolumeFailurePolicy,omitempty" protobuf:"bytes,6,opt,name=inferFromVolumeFailurePolicy,casttype=InferFromVolumeFailurePolicy"`
}

// InstancetypeRef records which instance type a virtual machine uses, and in
// which revision.
type InstancetypeRef struct {
	// name of the instance type. Empty when nothing could be inferred under the
	// policy Ignore, which stays so until a refresh.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// kind in canonical form: virtualmachineinstancetype or
	// virtualmachineclusterinstancetype.
	// +required
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	// controllerRevisionRef refers to the captured copy. Absent between a
	// refresh and the next capture.
	// +optional
	ControllerRevisionRef *ControllerRevisionRef `json:"controllerRevisionRef,omitempty" protobuf:"bytes,3,opt,name=controllerRevisionRef"`
	// sourceUID is the UID of the captured object.
	// +optional
	SourceUID string `json:"sourceUID,omitempty" protobuf:"bytes,4,opt,name=sourceUID"`
	// sourceGeneration is the generation of the captured object.
	// +optional
	SourceGeneration int64 `json:"sourceGeneration,omitempty" protobuf:"varint,5,opt,name=sourceGeneration"`
	// latestGeneration is the generation that the live object has now; 0 when
	// the live object is gone.
	// +optional
	LatestGeneration int64 `json:"latestGeneration,omitempty" protobuf:"varint,6,opt,name=latestGeneration"`
	// outdated is true when the live object differs in UID or generation from
	// the captured one.
	// +optional
	Outdated bool `json:"outdated,omitempty" protobuf:"varint,7,opt,name=outdated"`
	// inferFromVolume is the volume that the instance type was inferred from.
	// +optional
	InferFromVolume string `json:"inferFromVolume,omitempty" protobuf:"bytes,8,opt,name=inferFromVolume"`
	// inferFromVolumeFailurePolicy mirrors the spec.
	// +optional
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy `json:"inferFromVolumeFailurePolicy,omitempty" protobuf:"bytes,9,opt,name=inferFromVolumeFailurePolicy,casttype=InferFromVolumeFailurePolicy"`
	// resources is the size that the captured copy resolves to.
	// +optional
	Resources *VirtualMachineResources `json:"resources,omitempty" protobuf:"bytes,10,opt,name=resources"`
}

// PreferenceRef records which preference a virtual machine uses, and in which
// revision.
type PreferenceRef struct {
	// name of the preference. Empty when nothing could be inferred under the
	// policy Ignore, which stays so until a refresh.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// kind in canonical form: virtualmachinepreference or
	// virtualmachineclusterpreference.
	// +required
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	// controllerRevisionRef refers to the captured copy. Absent between a
	// refresh and the next capture.
	// +optional
	ControllerRevisionRef *ControllerRevisionRef `json:"controllerRevisionRef,omitempty" protobuf:"bytes,3,opt,name=controllerRevisionRef"`
	// sourceUID is the UID of the captured object.
	// +optional
	SourceUID string `json:"sourceUID,omitempty" protobuf:"bytes,4,opt,name=sourceUID"`
	// sourceGeneration is the generation of the captured object.
	// +optional
	SourceGeneration int64 `json:"sourceGeneration,omitempty" protobuf:"varint,5,opt,name=sourceGeneration"`
	// latestGeneration is the generation that the live object has now; 0 when
	// the live object is gone.
	// +optional
	LatestGeneration int64 `json:"latestGeneration,omitempty" protobuf:"varint,6,opt,name=latestGeneration"`
	// outdated is true when the live object differs in UID or generation from
	// the captured one.
	// +optional
	Outdated bool `json:"outdated,omitempty" protobuf:"varint,7,opt,name=outdated"`
	// inferFromVolume is the volume that the preference was inferred from.
	// +optional
	InferFromVolume string `json:"inferFromVolume,omitempty" protobuf:"bytes,8,opt,name=inferFromVolume"`
	// inferFromVolumeFailurePolicy mirrors the spec.
	// +optional
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy `json:"inferFromVolumeFailurePolicy,omitempty" protobuf:"bytes,9,opt,name=inferFromVolumeFailurePolicy,casttype=InferFromVolumeFailurePolicy"`
	// resources is the size that the captured copy was applied to.
	// +optional
	Resources *VirtualMachineResources `json:"resources,omitempty" protobuf:"bytes,10,opt,name=resources"`
}
