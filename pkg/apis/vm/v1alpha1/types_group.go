// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WaitFor says what a step of a group waits for before the next one begins.
// +enum
type WaitFor string

const (
	// WaitForNothing begins the next step when its delay is over.
	WaitForNothing WaitFor = "Nothing"
	// WaitForReady waits until every member of the step is Ready, or powered off.
	WaitForReady WaitFor = "Ready"
)

// PlacementPolicy says where members of a group go in relation to each other.
// +enum
type PlacementPolicy string

const (
	// PlacementTogether keeps the members together.
	PlacementTogether PlacementPolicy = "Together"
	// PlacementApart keeps the members apart.
	PlacementApart PlacementPolicy = "Apart"
)

// PlacementTopology says in what members of a group are together or apart.
// +enum
type PlacementTopology string

const (
	// PlacementTopologyZone is a Zone.
	PlacementTopologyZone PlacementTopology = "Zone"
	// PlacementTopologyHost is an ESXi host.
	PlacementTopologyHost PlacementTopology = "Host"
)

// VirtualMachineGroup powers virtual machines on in an order, and off in the reverse one.
//
// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineGroup struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// Spec is the desired state, owned by users.
	// +optional
	Spec VirtualMachineGroupSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// Status is the observed state, owned by the controllers.
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

	// Items are the groups.
	Items []VirtualMachineGroup `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineGroupSpec says who is in a group, and how it is powered.
type VirtualMachineGroupSpec struct {
	// GroupName names the VirtualMachineGroup of the namespace that this one is a member
	// of.
	// +optional
	GroupName string `json:"groupName,omitempty" protobuf:"bytes,1,opt,name=groupName"`
	// BootOrder are the steps in which the group is powered on; it is powered off and
	// suspended in the reverse order. At most 64. A member is linked when it names the
	// group in its own spec.groupName.
	// +optional
	// +listType=atomic
	BootOrder []VirtualMachineGroupStep `json:"bootOrder,omitempty" protobuf:"bytes,2,rep,name=bootOrder"`
	// PowerState is the desired power state of all members that leave theirs unset. Without
	// it each has its own.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,3,opt,name=powerState,casttype=PowerState"`
	// Placement says where the members go in relation to each other. It counts when a
	// member is created.
	// +optional
	Placement *VirtualMachineGroupPlacement `json:"placement,omitempty" protobuf:"bytes,4,opt,name=placement"`
}

// VirtualMachineGroupStep are members that are powered at the same time.
type VirtualMachineGroupStep struct {
	// Members of the step, at most 256.
	// +listType=atomic
	Members []VirtualMachineGroupMember `json:"members" protobuf:"bytes,1,rep,name=members"`
	// PowerOnDelaySeconds is how long after the step before the members are powered on, in
	// seconds, 0 to 86400.
	// +optional
	PowerOnDelaySeconds int32 `json:"powerOnDelaySeconds,omitempty" protobuf:"varint,2,opt,name=powerOnDelaySeconds"`
	// PowerOffDelaySeconds is how long after the step that follows the members are powered
	// off or suspended, in seconds, 0 to 86400.
	// +optional
	PowerOffDelaySeconds int32 `json:"powerOffDelaySeconds,omitempty" protobuf:"varint,3,opt,name=powerOffDelaySeconds"`
	// WaitFor says what the next step waits for. Defaults to Nothing. When the group is
	// powered off, the step before waits until the members are off.
	// +optional
	WaitFor WaitFor `json:"waitFor,omitempty" protobuf:"bytes,4,opt,name=waitFor,casttype=WaitFor"`
	// WaitTimeoutSeconds is after what time the next step begins all the same, in seconds,
	// 1 to 86400. It waits for ever when unset.
	// +optional
	WaitTimeoutSeconds int32 `json:"waitTimeoutSeconds,omitempty" protobuf:"varint,5,opt,name=waitTimeoutSeconds"`
}

// VirtualMachineGroupMember is a virtual machine or another group of the namespace.
type VirtualMachineGroupMember struct {
	// Kind of the member. Allowed: VirtualMachine, VirtualMachineGroup. Defaults to
	// VirtualMachine.
	// +optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// Name of the member.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// VirtualMachineGroupPlacement says where members go in relation to each other.
type VirtualMachineGroupPlacement struct {
	// Policy is Together or Apart.
	Policy PlacementPolicy `json:"policy" protobuf:"bytes,1,opt,name=policy,casttype=PlacementPolicy"`
	// Topology is Zone or Host.
	Topology PlacementTopology `json:"topology" protobuf:"bytes,2,opt,name=topology,casttype=PlacementTopology"`
}

// VirtualMachineGroupStatus is the observed state of a group.
type VirtualMachineGroupStatus struct {
	// Conditions are GroupLinked, if it is in another group, PowerStateSynced and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,1,rep,name=conditions"`
	// ObservedGeneration is the generation that the status tells of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,2,opt,name=observedGeneration"`
	// PowerState is the one that the members are brought to now.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,3,opt,name=powerState,casttype=PowerState"`
	// PowerStateTime is since when.
	// +optional
	PowerStateTime *metav1.MicroTime `json:"powerStateTime,omitempty" protobuf:"bytes,4,opt,name=powerStateTime"`
	// Members are those that spec names, as they are.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	Members []VirtualMachineGroupMemberStatus `json:"members,omitempty" protobuf:"bytes,5,rep,name=members"`
}

// VirtualMachineGroupMemberStatus is a member as it is, and what the group asks of it.
type VirtualMachineGroupMemberStatus struct {
	// Kind of the member.
	Kind string `json:"kind" protobuf:"bytes,1,opt,name=kind"`
	// Name of the member.
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
	// UID of the member, empty while there is none of the name.
	// +optional
	UID string `json:"uid,omitempty" protobuf:"bytes,3,opt,name=uid"`
	// PowerState of the member now.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,4,opt,name=powerState,casttype=PowerState"`
	// DesiredPowerState is the one that the member inherits now; one that sets its own
	// goes by that.
	// +optional
	DesiredPowerState PowerState `json:"desiredPowerState,omitempty" protobuf:"bytes,5,opt,name=desiredPowerState,casttype=PowerState"`
	// DesiredSince is since when it does.
	// +optional
	DesiredSince *metav1.MicroTime `json:"desiredSince,omitempty" protobuf:"bytes,6,opt,name=desiredSince"`
	// Conditions of the member in the group: GroupLinked, PowerStateSynced and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty" protobuf:"bytes,7,rep,name=conditions"`
}
