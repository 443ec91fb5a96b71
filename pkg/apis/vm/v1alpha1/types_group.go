// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// MaxGroupMembers is the maximum number of members in all steps of a VirtualMachineGroup. The limit exists because
	// the status lists every member.
	MaxGroupMembers = 512
	// MaxGroupDepth is the maximum depth of nested groups.
	MaxGroupDepth = 8
	// MaxGroupSeconds is the maximum delay and the maximum wait of a step, in seconds: one day.
	MaxGroupSeconds = 24 * 60 * 60
)

// Kinds of group members.
const (
	// MachineMemberKind is a virtual machine, the default.
	MachineMemberKind = "VirtualMachine"
	// GroupMemberKind is a nested group.
	GroupMemberKind = "VirtualMachineGroup"
)

// WaitFor defines the state that a group waits for between two steps.
// +enum
type WaitFor string

const (
	// WaitForNothing waits only for the delay.
	WaitForNothing WaitFor = "Nothing"
	// WaitForReady powers the next step on when all members of this step are Ready. It powers off or suspends this step
	// when no member of the next step runs.
	WaitForReady WaitFor = "Ready"
)

// PlacementPolicy defines where the members of a group are placed relative to each other.
// +enum
type PlacementPolicy string

const (
	// PlacementTogether places members in the same topology domain.
	PlacementTogether PlacementPolicy = "Together"
	// PlacementApart places a member in the topology domain that has the fewest other members, among those with enough
	// capacity.
	PlacementApart PlacementPolicy = "Apart"
)

// PlacementTopology is the type of topology domain to which a placement policy applies.
// +enum
type PlacementTopology string

const (
	// PlacementTopologyZone is a Zone.
	PlacementTopologyZone PlacementTopology = "Zone"
)

// VirtualMachineGroup powers on virtual machines in a defined order and powers them off in the reverse order.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineGroup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec is the desired state, owned by users.
	// +optional
	Spec VirtualMachineGroupSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state, owned by the controllers.
	// +optional
	Status VirtualMachineGroupStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VirtualMachineGroupList is a list of VirtualMachineGroups.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineGroupList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the groups.
	Items []VirtualMachineGroup `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineGroupSpec defines the members of a group and its power state.
type VirtualMachineGroupSpec struct {
	// groupName is the name of the VirtualMachineGroup in the same namespace that this group is a member of.
	// +optional
	GroupName string `json:"groupName,omitempty" protobuf:"bytes,1,opt,name=groupName"`
	// bootOrder are the steps in which the group is powered on. It is powered off and suspended in the reverse order. At
	// most 64 steps with at most 512 members in total. A member is linked if its spec.groupName is the name of the
	// group.
	// +optional
	// +listType=atomic
	BootOrder []VirtualMachineGroupStep `json:"bootOrder,omitempty" protobuf:"bytes,2,rep,name=bootOrder"`
	// powerState is the desired power state of all members that do not set their own. If unset, the group inherits the
	// power state of its parent group. Without a parent, the power state of such members does not change.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,3,opt,name=powerState,casttype=PowerState"`
	// placement defines where the virtual machines of the group are placed relative to each other. It applies when a
	// virtual machine is created that does not request a zone.
	// +optional
	Placement *VirtualMachineGroupPlacement `json:"placement,omitempty" protobuf:"bytes,4,opt,name=placement"`
}

// VirtualMachineGroupStep is a set of members that are powered on or off at the same time.
type VirtualMachineGroupStep struct {
	// members of the step, at most 256.
	// +listType=atomic
	// +required
	Members []VirtualMachineGroupMember `json:"members" protobuf:"bytes,1,rep,name=members"`
	// powerOnDelaySeconds is the delay before the members are powered on, in seconds. It starts after the previous step,
	// or for the first step when the group's power state changes. Allowed: 0 to 86400.
	// +optional
	PowerOnDelaySeconds int32 `json:"powerOnDelaySeconds,omitempty" protobuf:"varint,2,opt,name=powerOnDelaySeconds"`
	// powerOffDelaySeconds is the delay before the members are powered off or suspended, in seconds. It starts after the
	// next step, or for the last step when the group's power state changes. Allowed: 0 to 86400.
	// +optional
	PowerOffDelaySeconds int32 `json:"powerOffDelaySeconds,omitempty" protobuf:"varint,3,opt,name=powerOffDelaySeconds"`
	// waitFor defines the state that the group waits for between this step and the next one, before the delay starts.
	// Defaults to Nothing.
	// +optional
	WaitFor WaitFor `json:"waitFor,omitempty" protobuf:"bytes,4,opt,name=waitFor,casttype=WaitFor"`
	// waitTimeoutSeconds is the maximum time to wait for that state, in seconds. Allowed: 1 to 86400. If unset, the wait
	// has no limit.
	// +optional
	WaitTimeoutSeconds int32 `json:"waitTimeoutSeconds,omitempty" protobuf:"varint,5,opt,name=waitTimeoutSeconds"`
}

// VirtualMachineGroupMember refers to a virtual machine or a group in the same namespace.
type VirtualMachineGroupMember struct {
	// kind of the member. Allowed: VirtualMachine, VirtualMachineGroup. Defaults to VirtualMachine.
	// +optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// name of the member.
	// +required
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// VirtualMachineGroupPlacement defines where the members of a group are placed relative to each other.
type VirtualMachineGroupPlacement struct {
	// policy is Together or Apart. Existing members are not moved when members are added.
	// +required
	Policy PlacementPolicy `json:"policy" protobuf:"bytes,1,opt,name=policy,casttype=PlacementPolicy"`
	// topology is the type of topology domain. Allowed: Zone.
	// +required
	Topology PlacementTopology `json:"topology" protobuf:"bytes,2,opt,name=topology,casttype=PlacementTopology"`
}

// VirtualMachineGroupStatus is the observed state of a group.
type VirtualMachineGroupStatus struct {
	// conditions are the conditions of the group: PowerStateSynced, Ready and, if the group is in another group,
	// GroupLinked.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,2,opt,name=observedGeneration"`
	// powerState is the desired power state of the group. Empty if neither the group nor a parent group sets one.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,3,opt,name=powerState,casttype=PowerState"`
	// powerStateTime is the time when the desired power state last changed.
	// +optional
	PowerStateTime *metav1.MicroTime `json:"powerStateTime,omitempty" protobuf:"bytes,4,opt,name=powerStateTime"`
	// members is the observed state of the members in the spec.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	Members []VirtualMachineGroupMemberStatus `json:"members,omitempty" protobuf:"bytes,5,rep,name=members"`
}

// VirtualMachineGroupMemberStatus is the observed and the desired state of a member.
type VirtualMachineGroupMemberStatus struct {
	// conditions of the member in the group: GroupLinked, PowerStateSynced and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,7,rep,name=conditions"`
	// kind of the member.
	// +required
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind"`
	// name of the member.
	// +required
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// uid of the member. Empty if the member does not exist.
	// +optional
	UID string `json:"uid,omitempty" protobuf:"bytes,3,opt,name=uid"`
	// powerState is the observed power state of the member.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,4,opt,name=powerState,casttype=PowerState"`
	// desiredPowerState is the power state that the group requests from the member. It becomes the power state of the
	// group when the member's step begins. It does not apply to a member that sets its own power state.
	// +optional
	DesiredPowerState PowerState `json:"desiredPowerState,omitempty" protobuf:"bytes,5,opt,name=desiredPowerState,casttype=PowerState"`
	// desiredSince is the time when desiredPowerState last changed.
	// +optional
	DesiredSince *metav1.MicroTime `json:"desiredSince,omitempty" protobuf:"bytes,6,opt,name=desiredSince"`
}
