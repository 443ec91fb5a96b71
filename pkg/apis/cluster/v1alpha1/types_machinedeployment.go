// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// MachineDeployment rolls Machines from one template to the next.
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

	// items are the objects.
	Items []MachineDeployment `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// MachineDeploymentSpec is the desired state of a MachineDeployment.
type MachineDeploymentSpec struct {
	// clusterName names the Cluster that the machines belong to. Immutable.
	// +required
	ClusterName string `json:"clusterName,omitempty" protobuf:"bytes,1,opt,name=clusterName"`
	// replicas is how many machines are wanted. Defaults to 1, or to the minimum for
	// the autoscaler.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,2,opt,name=replicas"`
	// rollout says how machines are replaced.
	// +optional
	Rollout MachineDeploymentRolloutSpec `json:"rollout,omitempty,omitzero" protobuf:"bytes,3,opt,name=rollout"`
	// selector says which machines count. It must match the labels of the template. Unset, the
	// server fills it, and gives the template its labels. Immutable.
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero" protobuf:"bytes,4,opt,name=selector"`
	// template is what machines are made from.
	// +required
	Template MachineTemplateSpec `json:"template,omitempty,omitzero" protobuf:"bytes,5,opt,name=template"`
	// machineNaming says how machines are named.
	// +optional
	MachineNaming MachineNamingSpec `json:"machineNaming,omitempty,omitzero" protobuf:"bytes,6,opt,name=machineNaming"`
	// remediation says how many machines are replaced at once because they are not well.
	// +optional
	Remediation MachineDeploymentRemediationSpec `json:"remediation,omitempty,omitzero" protobuf:"bytes,7,opt,name=remediation"`
	// deletion says which machines go first.
	// +optional
	Deletion MachineSetDeletionSpec `json:"deletion,omitempty,omitzero" protobuf:"bytes,8,opt,name=deletion"`
	// paused keeps the controller from rolling to a new template.
	// +optional
	Paused *bool `json:"paused,omitempty" protobuf:"varint,9,opt,name=paused"`
	// revisionHistoryLimit is how many MachineSets of older templates are kept, to go back
	// to them. Defaults to 1.
	// +optional
	RevisionHistoryLimit *int32 `json:"revisionHistoryLimit,omitempty" protobuf:"varint,10,opt,name=revisionHistoryLimit"`
}

// MachineDeploymentRolloutSpec says how machines are replaced.
type MachineDeploymentRolloutSpec struct {
	// after is a time after which machines are replaced that were made before it, although
	// the template is the same.
	// +optional
	After *metav1.Time `json:"after,omitempty" protobuf:"bytes,1,opt,name=after"`
	// strategy of the replacement.
	// +optional
	Strategy MachineDeploymentRolloutStrategy `json:"strategy,omitempty,omitzero" protobuf:"bytes,2,opt,name=strategy"`
}

// MachineDeploymentRolloutStrategyType is a way to replace machines.
// +enum
type MachineDeploymentRolloutStrategyType string

const (
	// RollingUpdateMachineDeploymentStrategyType replaces a few at a time.
	RollingUpdateMachineDeploymentStrategyType MachineDeploymentRolloutStrategyType = "RollingUpdate"
	// OnDeleteMachineDeploymentStrategyType replaces those that somebody deletes.
	OnDeleteMachineDeploymentStrategyType MachineDeploymentRolloutStrategyType = "OnDelete"
)

// MachineDeploymentRolloutStrategy is how machines are replaced.
type MachineDeploymentRolloutStrategy struct {
	// type of the strategy. Defaults to RollingUpdate.
	// +optional
	Type MachineDeploymentRolloutStrategyType `json:"type,omitempty" protobuf:"bytes,1,opt,name=type,casttype=MachineDeploymentRolloutStrategyType"`
	// rollingUpdate says how many at a time.
	// +optional
	RollingUpdate MachineDeploymentRolloutStrategyRollingUpdate `json:"rollingUpdate,omitempty,omitzero" protobuf:"bytes,2,opt,name=rollingUpdate"`
}

// MachineDeploymentRolloutStrategyRollingUpdate says how many machines are replaced at a time.
type MachineDeploymentRolloutStrategyRollingUpdate struct {
	// maxUnavailable is how many machines may be unavailable, a number or a share of replicas
	// in percent, rounded down. Defaults to 0.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty" protobuf:"bytes,1,opt,name=maxUnavailable"`
	// maxSurge is how many machines there may be beyond replicas, a number or a share of them
	// in percent, rounded up. Defaults to 1.
	// +optional
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty" protobuf:"bytes,2,opt,name=maxSurge"`
}

// MachineDeploymentRemediationSpec bounds the replacement of machines that are not well.
type MachineDeploymentRemediationSpec struct {
	// maxInFlight is how many are replaced at once, a number or a share of replicas in
	// percent, rounded up. Unset, all are.
	// +optional
	MaxInFlight *intstr.IntOrString `json:"maxInFlight,omitempty" protobuf:"bytes,1,opt,name=maxInFlight"`
}

// MachineDeploymentPhase sums up the state of a MachineDeployment, for people.
// +enum
type MachineDeploymentPhase string

const (
	// MachineDeploymentPhaseScalingUp makes machines.
	MachineDeploymentPhaseScalingUp MachineDeploymentPhase = "ScalingUp"
	// MachineDeploymentPhaseScalingDown deletes machines.
	MachineDeploymentPhaseScalingDown MachineDeploymentPhase = "ScalingDown"
	// MachineDeploymentPhaseRunning has what is wanted.
	MachineDeploymentPhaseRunning MachineDeploymentPhase = "Running"
)

// MachineDeploymentStatus is the observed state of a MachineDeployment.
type MachineDeploymentStatus struct {
	// conditions tell what is observed.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// selector is the selector of the machines as a text, for autoscalers.
	// +optional
	Selector string `json:"selector,omitempty" protobuf:"bytes,2,opt,name=selector"`
	// replicas are the machines that there are.
	// +optional
	Replicas *int32 `json:"replicas,omitempty" protobuf:"varint,3,opt,name=replicas"`
	// readyReplicas are those that are Ready.
	// +optional
	ReadyReplicas *int32 `json:"readyReplicas,omitempty" protobuf:"varint,4,opt,name=readyReplicas"`
	// availableReplicas are those that are Available.
	// +optional
	AvailableReplicas *int32 `json:"availableReplicas,omitempty" protobuf:"varint,5,opt,name=availableReplicas"`
	// upToDateReplicas are those that are as the template says.
	// +optional
	UpToDateReplicas *int32 `json:"upToDateReplicas,omitempty" protobuf:"varint,6,opt,name=upToDateReplicas"`
	// versions counts the machines by their version, at most 100.
	// +optional
	// +listType=map
	// +listMapKey=version
	Versions []StatusVersion `json:"versions,omitempty" protobuf:"bytes,7,rep,name=versions"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,8,opt,name=observedGeneration"`
	// phase sums up, for people.
	// +optional
	Phase MachineDeploymentPhase `json:"phase,omitempty" protobuf:"bytes,10,opt,name=phase,casttype=MachineDeploymentPhase"` //nolint:nophase // people know the word from Pod and Machine; conditions say all of it

	// Protobuf field number 9 is reserved: no field may use it.
}
