// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineDeployment manages Machines and replaces them when the template changes.
//
// +genclient
// +genclient:method=GetScale,verb=get,subresource=scale,result=k8s.io/api/autoscaling/v1.Scale
// +genclient:method=UpdateScale,verb=update,subresource=scale,input=k8s.io/api/autoscaling/v1.Scale,result=k8s.io/api/autoscaling/v1.Scale
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MachineDeployment struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state, owned by users.
	// +required
	Spec MachineDeploymentSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state, owned by the controllers.
	// +optional
	Status MachineDeploymentStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// MachineDeploymentList is a list of MachineDeployments.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type MachineDeploymentList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the machine deployments.
	Items []MachineDeployment `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineDeploymentSpec is the desired state of a MachineDeployment.
type MachineDeploymentSpec struct {
	// clusterName is the name of the Cluster that the machines belong to. Immutable.
	// +required
	ClusterName string `json:"clusterName,omitempty" protobuf:"bytes,1,opt,name=clusterName"`
	// replicas is the desired number of machines. Defaults to the minimum size for the autoscaler or else to 1.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`
	// rollout defines how machines are replaced.
	// +optional
	Rollout MachineDeploymentRolloutSpec `json:"rollout,omitempty,omitzero" protobuf:"bytes,3,opt,name=rollout"`
	// selector selects the machines that belong to the deployment. It must match the labels of the template. If unset,
	// the server sets it and adds its labels to the template. Immutable.
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero" protobuf:"bytes,4,opt,name=selector"`
	// template describes the machines.
	// +required
	Template MachineTemplateSpec `json:"template,omitempty,omitzero" protobuf:"bytes,5,opt,name=template"`
	// machineNaming defines the names of machines.
	// +optional
	MachineNaming MachineNamingSpec `json:"machineNaming,omitempty,omitzero" protobuf:"bytes,6,opt,name=machineNaming"`
	// remediation limits how many unhealthy machines are replaced at the same time.
	// +optional
	Remediation MachineDeploymentRemediationSpec `json:"remediation,omitempty,omitzero" protobuf:"bytes,7,opt,name=remediation"`
	// deletion defines which machines are deleted first.
	// +optional
	Deletion MachineSetDeletionSpec `json:"deletion,omitempty,omitzero" protobuf:"bytes,8,opt,name=deletion"`
	// paused pauses the rollout of a new template.
	// +optional
	Paused *bool `json:"paused,omitempty" protobuf:"varint,9,opt,name=paused"`
	// revisionHistoryLimit is the number of MachineSets of older templates that are kept for rollback. Defaults to 1.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,10,opt,name=revisionHistoryLimit"`
}

// MachineDeploymentRolloutSpec defines how machines are replaced.
type MachineDeploymentRolloutSpec struct {
	// after is a time. Once it has passed, machines that were created before it are replaced even if the template did
	// not change.
	// +optional
	After *metav1.Time `json:"after,omitempty" protobuf:"bytes,1,opt,name=after"`
	// strategy of the replacement.
	// +optional
	Strategy MachineDeploymentRolloutStrategy `json:"strategy,omitempty,omitzero" protobuf:"bytes,2,opt,name=strategy"`
}

// MachineDeploymentRolloutStrategyType is the type of a rollout strategy.
// +enum
type MachineDeploymentRolloutStrategyType string

const (
	// RollingUpdateMachineDeploymentStrategyType replaces a limited number of machines at a time.
	RollingUpdateMachineDeploymentStrategyType MachineDeploymentRolloutStrategyType = "RollingUpdate"
	// OnDeleteMachineDeploymentStrategyType replaces machines only after they are deleted by a user.
	OnDeleteMachineDeploymentStrategyType MachineDeploymentRolloutStrategyType = "OnDelete"
)

// MachineDeploymentRolloutStrategy defines how machines are replaced.
type MachineDeploymentRolloutStrategy struct {
	// type of the strategy. Defaults to RollingUpdate.
	// +optional
	Type MachineDeploymentRolloutStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=MachineDeploymentRolloutStrategyType"`
	// rollingUpdate defines how many machines are replaced at a time.
	// +optional
	RollingUpdate MachineDeploymentRolloutStrategyRollingUpdate `json:"rollingUpdate,omitempty,omitzero" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// MachineDeploymentRolloutStrategyRollingUpdate defines how many machines are replaced at a time.
type MachineDeploymentRolloutStrategyRollingUpdate struct {
	// maxUnavailable is the maximum number of unavailable machines. It is a number or a percentage of replicas, rounded
	// down. Defaults to 0.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,1,opt,name=maxUnavailable"`
	// maxSurge is the maximum number of machines above replicas. It is a number or a percentage of replicas, rounded up.
	// Defaults to 1.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,2,opt,name=maxSurge"`
}

// MachineDeploymentRemediationSpec limits the replacement of unhealthy machines.
type MachineDeploymentRemediationSpec struct {
	// maxInFlight is the maximum number of machines that are replaced at the same time. It is a number or a percentage
	// of replicas, rounded up. If unset, there is no limit.
	// +optional
	MaxInFlight *intstr.IntOrString `json:"maxInFlight,omitempty" protobuf:"bytes,1,opt,name=maxInFlight"`
}

// MachineDeploymentPhase is a summary of the state of a MachineDeployment for display.
// +enum
type MachineDeploymentPhase string

const (
	// MachineDeploymentPhaseScalingUp means that machines are being created.
	MachineDeploymentPhaseScalingUp MachineDeploymentPhase = "ScalingUp"
	// MachineDeploymentPhaseScalingDown means that machines are being deleted.
	MachineDeploymentPhaseScalingDown MachineDeploymentPhase = "ScalingDown"
	// MachineDeploymentPhaseRunning means that the desired number of machines exists.
	MachineDeploymentPhaseRunning MachineDeploymentPhase = "Running"
)

// MachineDeploymentStatus is the observed state of a MachineDeployment.
type MachineDeploymentStatus struct {
	// conditions are the conditions of the machine deployment.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// selector is the selector in text form, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`
	// replicas is the number of machines.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`
	// readyReplicas is the number of Ready machines.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`
	// availableReplicas is the number of Available machines.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`
	// upToDateReplicas is the number of machines that match the template.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty" protobuf:"varint,6,opt,name=upToDateReplicas"`
	// versions is the number of machines by version, at most 100 versions.
	// +optional
	// +listType=map
	// +listMapKey=version
	Versions []StatusVersion `json:"versions,omitempty" protobuf:"bytes,7,rep,name=versions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,8,opt,name=observedGeneration"`
	// phase is a summary of the state for display.
	// +optional
	Phase MachineDeploymentPhase `json:"phase,omitempty" protobuf:"bytes,10,opt,name=phase,casttype=MachineDeploymentPhase"` //nolint:nophase // Pod and Machine also have a phase; conditions contain the same information

	// Protobuf field number 9 is reserved: no field may use it.
}
