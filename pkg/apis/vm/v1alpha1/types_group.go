// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// MaxGroupMembers is the most members that a VirtualMachineGroup has, in all of its
	// steps: its status tells of each.
	MaxGroupMembers = 512
	// MaxGroupDepth is the most groups that a group may be in, one in another.
	MaxGroupDepth = 8
	// MaxGroupSeconds is the longest delay and the longest wait of a step, in seconds: a day.
	MaxGroupSeconds = 24 * 60 * 60
)

// Kinds of the members of a group.
const (
	// MachineMemberKind is a virtual machine; it is the default.
	MachineMemberKind = "VirtualMachine"
	// GroupMemberKind is another group.
	GroupMemberKind = "VirtualMachineGroup"
)

// WaitFor says what is waited for between a step of a group and the next one.
// +enum
type WaitFor string

const (
	// WaitForNothing waits for nothing but the delay.
	WaitForNothing WaitFor = "Nothing"
	// WaitForReady powers the next step on when every member of this one is Ready, and
	// powers this one off or suspends it when no member of the next one runs any more.
	WaitForReady WaitFor = "Ready"
)

// PlacementPolicy says where members of a group go in relation to each other.
// +enum
type PlacementPolicy string

const (
	// PlacementTogether puts members where the others are.
	PlacementTogether PlacementPolicy = "Together"
	// PlacementApart puts a member where the fewest of the others are, of all places that
	// can hold it.
	PlacementApart PlacementPolicy = "Apart"
)

// PlacementTopology says in what members of a group are together or apart.
// +enum
type PlacementTopology string

const (
	// PlacementTopologyZone is a Zone.
	PlacementTopologyZone PlacementTopology = "Zone"
)

// VirtualMachineGroup powers virtual machines on in an order, and off in the reverse one.
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

// VirtualMachineGroupSpec says who is in a group, and how it is powered.
type VirtualMachineGroupSpec struct {
	// groupName names the VirtualMachineGroup of the namespace that this one is a member
	// of.
	// +optional
	GroupName string `json:"groupName,omitempty" protobuf:"bytes,1,opt,name=groupName"`
	// bootOrder are the steps in which the group is powered on; it is powered off and
	// suspended in the reverse order. At most 64, with at most 512 members in all. A member
	// is linked when it names the group in its own spec.groupName.
	// +optional
	// +listType=atomic
	BootOrder []VirtualMachineGroupStep `json:"bootOrder,omitempty" protobuf:"bytes,2,rep,name=bootOrder"`
	// powerState is the desired power state of all members that leave theirs unset. When it
	// is unset, the group inherits that of the group that it is in; without one, such
	// members stay as they are.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,3,opt,name=powerState,casttype=PowerState"`
	// placement says where the virtual machines of the group go in relation to each other.
	// It counts when one is created that does not ask for a zone itself.
	// +optional
	Placement *VirtualMachineGroupPlacement `json:"placement,omitempty" protobuf:"bytes,4,opt,name=placement"`
}

// VirtualMachineGroupStep are members that are powered at the same time.
type VirtualMachineGroupStep struct {
	// members of the step, at most 256.
	// +listType=atomic
	// +required
	Members []VirtualMachineGroupMember `json:"members" protobuf:"bytes,1,rep,name=members"`
	// powerOnDelaySeconds is how long after the step before, or after the group was told,
	// the members are powered on, in seconds, 0 to 86400.
	// +optional
	PowerOnDelaySeconds int32 `json:"powerOnDelaySeconds,omitempty" protobuf:"varint,2,opt,name=powerOnDelaySeconds"`
	// powerOffDelaySeconds is how long after the next step, or after the group was told, the
	// members are powered off or suspended, in seconds, 0 to 86400.
	// +optional
	PowerOffDelaySeconds int32 `json:"powerOffDelaySeconds,omitempty" protobuf:"varint,3,opt,name=powerOffDelaySeconds"`
	// waitFor says what is waited for between this step and the next one, after which the
	// delay counts. Defaults to Nothing.
	// +optional
	WaitFor WaitFor `json:"waitFor,omitempty" protobuf:"bytes,4,opt,name=waitFor,casttype=WaitFor"`
	// waitTimeoutSeconds is how long that is waited for at most, in seconds, 1 to 86400. It
	// is waited for ever when unset.
	// +optional
	WaitTimeoutSeconds int32 `json:"waitTimeoutSeconds,omitempty" protobuf:"varint,5,opt,name=waitTimeoutSeconds"`
}

// VirtualMachineGroupMember is a virtual machine or another group of the namespace.
type VirtualMachineGroupMember struct {
	// kind of the member. Allowed: VirtualMachine, VirtualMachineGroup. Defaults to
	// VirtualMachine.
	// +optional
	Kind string `json:"kind,omitempty" protobuf:"bytes,1,opt,name=kind"`
	// name of the member.
	// +required
	Name string `json:"name" protobuf:"bytes,2,opt,name=name"`
}

// VirtualMachineGroupPlacement says where members go in relation to each other.
type VirtualMachineGroupPlacement struct {
	// policy is Together or Apart. A member stays where it is when others come.
	// +required
	Policy PlacementPolicy `json:"policy" protobuf:"bytes,1,opt,name=policy,casttype=PlacementPolicy"`
	// topology is Zone.
	// +required
	Topology PlacementTopology `json:"topology" protobuf:"bytes,2,opt,name=topology,casttype=PlacementTopology"`
}

// VirtualMachineGroupStatus is the observed state of a group.
type VirtualMachineGroupStatus struct {
	// conditions are GroupLinked, if it is in another group, PowerStateSynced and Ready.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,1,rep,name=conditions"`
	// observedGeneration is the generation that the status tells of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,2,opt,name=observedGeneration"`
	// powerState is the one that the members are brought to now; empty if none is wanted.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,3,opt,name=powerState,casttype=PowerState"`
	// powerStateTime is since when.
	// +optional
	PowerStateTime *metav1.MicroTime `json:"powerStateTime,omitempty" protobuf:"bytes,4,opt,name=powerStateTime"`
	// members are those that spec names, as they are.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	Members []VirtualMachineGroupMemberStatus `json:"members,omitempty" protobuf:"bytes,5,rep,name=members"`
}

// VirtualMachineGroupMemberStatus is a member as it is, and what the group asks of it.
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
	// uid of the member, empty while there is none of the name.
	// +optional
	UID string `json:"uid,omitempty" protobuf:"bytes,3,opt,name=uid"`
	// powerState of the member now.
	// +optional
	PowerState PowerState `json:"powerState,omitempty" protobuf:"bytes,4,opt,name=powerState,casttype=PowerState"`
	// desiredPowerState is the one that the group asks of the member now: it becomes that
	// of the group when the step of the member begins. A member that sets its own goes by
	// that.
	// +optional
	DesiredPowerState PowerState `json:"desiredPowerState,omitempty" protobuf:"bytes,5,opt,name=desiredPowerState,casttype=PowerState"`
	// desiredSince is since when it does.
	// +optional
	DesiredSince *metav1.MicroTime `json:"desiredSince,omitempty" protobuf:"bytes,6,opt,name=desiredSince"`
}
