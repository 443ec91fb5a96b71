// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// InferFromVolumeFailurePolicy defines what happens if nothing can be inferred from the named volume.
// +enum
type InferFromVolumeFailurePolicy string

const (
	// InferFromVolumeFailureReject reports an error.
	InferFromVolumeFailureReject InferFromVolumeFailurePolicy = "Reject"
	// InferFromVolumeFailureIgnore proceeds as if the matcher were not set.
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
	// kind of the instance type: VirtualMachineInstancetype or VirtualMachineClusterInstancetype, in any letter case,
	// singular or plural. Defaults, when used, to VirtualMachineClusterInstancetype.
	// +optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,2,opt,name=kind"`
	// revisionName pins a ControllerRevision. Deprecated: use controllerRevisionRef.
	// +optional
	RevisionName string `json:"revisionName,omitempty" protobuf:"bytes,3,opt,name=revisionName"`
	// controllerRevisionRef pins the ControllerRevision that holds the instance
	// type. The controller never sets it.
	// +optional
	ControllerRevisionRef *ControllerRevisionRef `json:"controllerRevisionRef,omitempty" protobuf:"bytes,4,opt,name=controllerRevisionRef"`
	// inferFromVolume is the name of a volume, or "image" for the boot image, whose labels specify the instance type.
	// The result is written only to status.
	// +optional
	InferFromVolume string `json:"inferFromVolume,omitempty" protobuf:"bytes,5,opt,name=inferFromVolume"`
	// inferFromVolumeFailurePolicy is Reject or Ignore. Defaults, when used, to Reject.
	// +optional
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy `json:"inferFromVolumeFailurePolicy,omitempty" protobuf:"bytes,6,opt,name=inferFromVolumeFailurePolicy,casttype=InferFromVolumeFailurePolicy"`
}

// PreferenceMatcher refers to a preference.
type PreferenceMatcher struct {
	// name of the preference. One of name and inferFromVolume is required.
	// +optional
	Name string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`
	// kind of the preference: VirtualMachinePreference or VirtualMachineClusterPreference, in any letter case, singular
	// or plural. Defaults, when used, to VirtualMachineClusterPreference.
	// +optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,2,opt,name=kind"`
	// revisionName pins a ControllerRevision. Deprecated: use controllerRevisionRef.
	// +optional
	RevisionName string `json:"revisionName,omitempty" protobuf:"bytes,3,opt,name=revisionName"`
	// controllerRevisionRef pins the ControllerRevision that contains the preference. The controller never sets it.
	// +optional
	ControllerRevisionRef *ControllerRevisionRef `json:"controllerRevisionRef,omitempty" protobuf:"bytes,4,opt,name=controllerRevisionRef"`
	// inferFromVolume is the name of a volume, or "image" for the boot image, whose labels specify the preference. The
	// result is written only to status.
	// +optional
	InferFromVolume string `json:"inferFromVolume,omitempty" protobuf:"bytes,5,opt,name=inferFromVolume"`
	// inferFromVolumeFailurePolicy is Reject or Ignore. Defaults, when used, to Reject.
	// +optional
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy `json:"inferFromVolumeFailurePolicy,omitempty" protobuf:"bytes,6,opt,name=inferFromVolumeFailurePolicy,casttype=InferFromVolumeFailurePolicy"`
}

// InstancetypeRef identifies the instance type that a virtual machine uses, and its revision.
type InstancetypeRef struct {
	// name of the instance type. Empty if nothing could be inferred and the failure policy is Ignore. It then stays
	// empty until a refresh.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// kind in canonical form: virtualmachineinstancetype or virtualmachineclusterinstancetype.
	// +required
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	// controllerRevisionRef refers to the pinned revision. Unset between a refresh and the next reconcile, which pins a
	// revision.
	// +optional
	ControllerRevisionRef *ControllerRevisionRef `json:"controllerRevisionRef,omitempty" protobuf:"bytes,3,opt,name=controllerRevisionRef"`
	// sourceUID is the UID of the object that the pinned revision is a copy of.
	// +optional
	SourceUID string `json:"sourceUID,omitempty" protobuf:"bytes,4,opt,name=sourceUID"`
	// sourceGeneration is the generation of the object that the pinned revision is a copy of.
	// +optional
	SourceGeneration int64 `json:"sourceGeneration,omitempty" protobuf:"varint,5,opt,name=sourceGeneration"`
	// latestGeneration is the current generation of the object. 0 if the object was deleted.
	// +optional
	LatestGeneration int64 `json:"latestGeneration,omitempty" protobuf:"varint,6,opt,name=latestGeneration"`
	// outdated is true if the UID or generation of the current object differs from the pinned revision.
	// +optional
	Outdated bool `json:"outdated,omitempty" protobuf:"varint,7,opt,name=outdated"`
	// inferFromVolume is the volume that the instance type was inferred from.
	// +optional
	InferFromVolume string `json:"inferFromVolume,omitempty" protobuf:"bytes,8,opt,name=inferFromVolume"`
	// inferFromVolumeFailurePolicy mirrors the spec.
	// +optional
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy `json:"inferFromVolumeFailurePolicy,omitempty" protobuf:"bytes,9,opt,name=inferFromVolumeFailurePolicy,casttype=InferFromVolumeFailurePolicy"`
	// resources is the size that the pinned revision defines.
	// +optional
	Resources *VirtualMachineResources `json:"resources,omitempty" protobuf:"bytes,10,opt,name=resources"`
}

// PreferenceRef identifies the preference that a virtual machine uses, and its revision.
type PreferenceRef struct {
	// name of the preference. Empty if nothing could be inferred and the failure policy is Ignore. It then stays empty
	// until a refresh.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// kind in canonical form: virtualmachinepreference or virtualmachineclusterpreference.
	// +required
	Kind string `json:"kind" protobuf:"bytes,2,opt,name=kind"`
	// controllerRevisionRef refers to the pinned revision. Unset between a refresh and the next reconcile, which pins a
	// revision.
	// +optional
	ControllerRevisionRef *ControllerRevisionRef `json:"controllerRevisionRef,omitempty" protobuf:"bytes,3,opt,name=controllerRevisionRef"`
	// sourceUID is the UID of the object that the pinned revision is a copy of.
	// +optional
	SourceUID string `json:"sourceUID,omitempty" protobuf:"bytes,4,opt,name=sourceUID"`
	// sourceGeneration is the generation of the object that the pinned revision is a copy of.
	// +optional
	SourceGeneration int64 `json:"sourceGeneration,omitempty" protobuf:"varint,5,opt,name=sourceGeneration"`
	// latestGeneration is the current generation of the object. 0 if the object was deleted.
	// +optional
	LatestGeneration int64 `json:"latestGeneration,omitempty" protobuf:"varint,6,opt,name=latestGeneration"`
	// outdated is true if the UID or generation of the current object differs from the pinned revision.
	// +optional
	Outdated bool `json:"outdated,omitempty" protobuf:"varint,7,opt,name=outdated"`
	// inferFromVolume is the volume that the preference was inferred from.
	// +optional
	InferFromVolume string `json:"inferFromVolume,omitempty" protobuf:"bytes,8,opt,name=inferFromVolume"`
	// inferFromVolumeFailurePolicy mirrors the spec.
	// +optional
	InferFromVolumeFailurePolicy *InferFromVolumeFailurePolicy `json:"inferFromVolumeFailurePolicy,omitempty" protobuf:"bytes,9,opt,name=inferFromVolumeFailurePolicy,casttype=InferFromVolumeFailurePolicy"`
	// resources is the size that the pinned revision was applied to.
	// +optional
	Resources *VirtualMachineResources `json:"resources,omitempty" protobuf:"bytes,10,opt,name=resources"`
}
