// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// snapshotWaits are the reasons for which a snapshot is not created yet, or not Ready.
var snapshotWaits = []Reason{
	{isFalse, "Creating", "vSphere is requested to take the snapshot, or takes it.", nothing},
	{isFalse, "WaitingForPrerequisites", "An older snapshot, the creation or promotion of the VM, the guest customization or a revert takes precedence.", "Nothing, unless the message names a missing object."},
	{isFalse, "SourceBusy", "Another operation of the VM runs.", nothing},
	{isFalse, "TooManyOperations", "Other snapshots take precedence.", nothing},
	{isFalse, "NotReady", "The VM cannot be read, or is not created.", "See the conditions of the VirtualMachine."},
	{isFalse, "Paused", "An administrator paused the VM in vSphere.", "Remove the advanced setting `slipway.paused` of the VM in vSphere."},
	{isFalse, "UnknownState", "vSphere could not be read.", connect},
	{isFalse, "NotFound", "The VM does not exist, is being deleted, is not in vSphere, or is another one of the same name.", "Delete the snapshot, or create it for an existing VM."},
	{isFalse, "Invalid", "vSphere does not take such a snapshot, or the VirtualMachine is too large to be stored with the snapshot.", "Change the snapshot or the VM as the message describes."},
	{isFalse, "Error", "vSphere refused the snapshot, or its removal.", retried},
	{isFalse, "Deleting", "The snapshot is being removed.", nothing},
}

// changingState are the reasons while a power state is being changed.
var changingState = []Reason{
	{isFalse, "PoweringOn", "Members are being powered on.", nothing},
	{isFalse, "PoweringOff", "Members are being powered off.", nothing},
	{isFalse, "Suspending", "Members are being suspended.", nothing},
}

func groupLinked(what string) Condition {
	return Condition{Type: "GroupLinked", Normal: isTrue, Means: what + " refer to each other.",
		Reasons: []Reason{
			met("They refer to each other."),
			{isFalse, "NotFound", "One of them does not exist.", "Create it, or correct the name."},
			{isFalse, "NotLinked", "One of them does not name the other.", "Correct `spec.groupName` of the member, or `spec.bootOrder` of the group."},
			{isFalse, "Invalid", "The groups form a circle, or are nested too deeply.", "Correct `spec.groupName` of the groups."},
		}}
}

// absentWithoutGroup returns c as a condition that is absent while spec.groupName is not set.
func absentWithoutGroup(c Condition) Condition {
	c.Absent = "`spec.groupName` is not set."
	return c
}

var groupPower = append([]Reason{
	met("All members have the power state of the group, or the one in their own `spec.powerState`."),
	{isFalse, "Delayed", "A step waits for its delay; the message gives the time.", nothing},
	{isFalse, "WaitingForMembers", "A step waits for the members of the step before it.", "If it stays, see the members that the message names."},
	{isFalse, "NotReady", "Members with their own `spec.powerState` have not reached it.", "See the members that the message names."},
}, changingState...)

var snapshotKinds = []Kind{
	{Names: []string{"VirtualMachineSnapshot"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Ready", Normal: isTrue, Means: "vSphere has the snapshot, and the VM can be reverted to it.",
			Reasons: append([]Reason{
				met("vSphere has the snapshot."),
				{isFalse, "Missing", "vSphere had the snapshot and does not show it any more; it is not taken again.", "Delete the object, and create another one if needed."},
			}, snapshotWaits...)},
		{Type: "Created", Normal: isTrue, Means: "vSphere has taken the snapshot.", Reasons: append([]Reason{met("vSphere has taken the snapshot.")}, snapshotWaits...)},
	}},
	{Names: []string{"VirtualMachineGroup"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Ready", Normal: isTrue, Means: "All members exist, refer to the group, have the desired power state and are Ready.",
			Reasons: []Reason{
				met("All members are Ready."),
				{isFalse, "NotLinked", "Members do not exist, or do not refer to the group.", "Create them, or correct the names; the message lists them."},
				{isFalse, "NotReady", "Members are not Ready.", "See the members that the message names."},
			},
			Copies: []Copy{{Of: "VirtualMachineGroup PowerStateSynced", From: isFalse}}},
		{Type: "PowerStateSynced", Normal: isTrue, Means: "All members have the power state of the group, or the one in their own `spec.powerState`.", Reasons: groupPower},
		absentWithoutGroup(groupLinked("The group and the group that `spec.groupName` names")),
	}},
	{Names: []string{"VirtualMachineGroup"}, List: "members", Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Ready", Normal: isTrue, Means: "Copies the condition Ready of the member; Unknown becomes False.", Absent: "The member has no condition Ready, or GroupLinked is not True.",
			Reasons: []Reason{
				{isFalse, "Deleting", "The member is being deleted.", nothing},
				{isFalse, "UnknownState", "vCenter cannot reach or read the member.", connect},
				{isFalse, "Unreachable", "The vCenter of the member does not answer.", connect},
			},
			Copies: []Copy{
				{Of: "VirtualMachine Ready", From: isTrue}, {Of: "VirtualMachine Ready", From: isFalse}, {Of: "VirtualMachine Ready", From: isUnknown, To: isFalse},
				{Of: "VirtualMachineGroup Ready"},
			}},
		{Type: "PowerStateSynced", Normal: isTrue, Means: "The member has the power state of the group, or the one in its own `spec.powerState`.", Absent: "GroupLinked is not True.",
			Reasons: append([]Reason{
				met("The member has the power state."),
				{isFalse, "Pending", "The step of the member has not begun.", nothing},
			}, changingState...)},
		groupLinked("Group and member"),
	}},
	{Names: []string{"VirtualMachinePublishRequest"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Complete", Normal: isTrue, Means: "The item and its image exist; the request has nothing left to do.",
			Reasons: []Reason{met("The request is complete."), {isFalse, "UnknownState", "vSphere could not be read.", connect}},
			Copies: []Copy{
				{Of: "VirtualMachinePublishRequest Uploaded", From: isFalse}, {Of: "VirtualMachinePublishRequest ImageAvailable", From: isFalse},
			}},
		{Type: "SourceValid", Normal: isTrue, Means: "The VM exists and can be published.",
			Reasons: []Reason{
				met("The VM can be published."),
				{isFalse, "NotFound", "The VM does not exist, is being deleted, or is not in vSphere.", "Create the VM, or correct the name."},
				{isFalse, "NotReady", "The VM is not created, not powered off, or cannot be read.", "Power the VM off, or see its conditions."},
				{isFalse, "Paused", "An administrator paused the VM in vSphere.", "Remove the advanced setting `slipway.paused` of the VM in vSphere."},
				{isFalse, "Invalid", "Disks of claims, a TPM or private values would be published with the VM.", "Publish a clone, or remove the parts that the message lists."},
			}},
		{Type: "TargetValid", Normal: isTrue, Means: "The content library accepts the item.",
			Reasons: []Reason{
				met("The library accepts the item."),
				{isFalse, "NotFound", "The ContentLibrary, or its library in vSphere, does not exist.", "Create it, or correct the name."},
				{isFalse, "NotAllowed", "`spec.publishFrom` of the ContentLibrary does not select the namespace.", "Ask the administrator, or use another library."},
				{isFalse, "NameTaken", "The library has another item of the name.", "Choose another `spec.target.item.name`, or delete the item."},
				{isFalse, "Invalid", "The library is not a local one, is of another vCenter, or its selector is wrong.", "Use another library, or correct it."},
				{isUnknown, "UnknownState", "The labels of the namespace are not known.", nothing},
			}},
		{Type: "Uploaded", Normal: isTrue, Means: "The library has the item.",
			Reasons: []Reason{
				met("The library has the item."),
				{isFalse, "WaitingForPrerequisites", "SourceValid or TargetValid is not True.", "See that condition."},
				{isFalse, "Publishing", "The item is being created.", nothing},
				{isFalse, "SourceBusy", "Another operation of the VM takes precedence.", nothing},
				{isFalse, "TooManyOperations", "Other VMs are published first.", nothing},
				{isFalse, "Error", "The publication failed.", retried},
				{isUnknown, "UnknownState", "vSphere could not be read.", connect},
			}},
		{Type: "ImageAvailable", Normal: isTrue, Means: "An image object represents the item.", Absent: "Uploaded is not True.",
			Reasons: []Reason{
				met("The image is Ready."),
				{isFalse, "NotFound", "The ContentLibrary does not exist, or has no image of the item yet.", "If it stays, see the conditions of the ContentLibrary."},
				{isFalse, "NotReady", "The image does not describe the item yet.", "If it stays, see the conditions of the image."},
			}},
		{Type: "Stalled", Means: "The request is not published before a user changes an object; the message gives the reason.", Absent: "The request is not refused permanently.",
			Copies: []Copy{
				{Of: "VirtualMachinePublishRequest SourceValid", From: isFalse, To: isTrue}, {Of: "VirtualMachinePublishRequest TargetValid", From: isFalse, To: isTrue},
			}},
		{Type: "Reconciling", Means: "The request is not complete.", Absent: "The request is complete or Stalled.",
			Copies: []Copy{{Of: "VirtualMachinePublishRequest Complete", From: isFalse, To: isTrue}}},
		{Type: "Deleting", Means: "The request is being deleted and cannot be removed yet.", Absent: "The request is not being deleted.",
			Reasons: []Reason{
				{isTrue, "Publishing", "The running publication is ended first.", nothing},
				{isTrue, "UnknownState", "No vCenter is connected.", connect},
				{isTrue, "Error", "What is half published could not be removed.", retried},
			}},
	}},
}
