// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

const (
	fixName    = "Create the object or correct its name; the VM continues automatically."
	fixSpec    = "Change the field that the message names."
	fixVSphere = "Correct the object or value in the message, in vSphere or in the spec; it is checked again automatically."
	retried    = "Nothing, unless the message reports a cause to repair; it is retried with growing delays."
	connect    = "Check the VCenter and its connection; it is retried automatically."
)

var machineKinds = []Kind{
	{Names: []string{"VirtualMachine"}, Group: vmv1alpha1.SchemeGroupVersion,
		Conditions: append(append(vmSummary, vmPrerequisites...), append(vmState, vmReports...)...)},
	{Names: []string{"VirtualMachineInstance"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Ready", Normal: isTrue, Means: "Copies the condition Ready of the VirtualMachine.", Copies: []Copy{{Of: "VirtualMachine Ready"}}},
		{Type: "GuestToolsReady", Normal: isTrue, Means: "GuestToolsReady of the VirtualMachine.", Copies: []Copy{{Of: "VirtualMachine GuestToolsReady"}}},
	}},
}

// vmSummary has the conditions that summarize a VirtualMachine.
var vmSummary = []Condition{
	{Type: "Ready", Normal: isTrue,
		Means: "The VM exists and has the desired power state. If it is powered on with a network, it has an address, and its readiness probe succeeds.",
		Reasons: []Reason{
			met("The VM is ready."),
			{isTrue, "PoweredOff", "The VM is powered off, as desired.", nothing},
			{isFalse, "WaitingForPrerequisites", "The VM is not created, because a prerequisite is missing; the message names it.", "See the condition that the message names."},
			{isFalse, "PoweringOn", "The VM is being powered on.", nothing},
			{isFalse, "PoweringOff", "The VM is being powered off.", nothing},
			{isFalse, "Suspending", "The VM is being suspended.", nothing},
			{isFalse, "WaitingForIP", "VMware Tools reports no address of the guest.",
				"If it stays, check that VMware Tools runs and that the guest's network is configured, for example with `virtctl console`."},
			{isFalse, "WaitingForTools", "VMware Tools does not run in the guest, and `spec.bootstrap.waitForTools` or the readiness probe requires it.",
				"If it stays, install VMware Tools in the guest."},
			{isFalse, "HeldByCheck", "An annotation holds the deletion back; the message names it.", "Remove the annotation when its owner has finished."},
			{isFalse, "Paused", "The VM is paused, so its deletion waits; the message names the cause.", "Remove the annotation, unpause the Cluster, or remove the advanced setting `slipway.paused` of the VM in vSphere."},
			{isFalse, "Deleting", "The VM is being deleted; the message reports what the deletion waits for.", "Nothing, unless the message reports a cause to repair."},
			{isUnknown, "UnknownState", "vCenter cannot reach or read the VM; the status is that of an earlier time.", connect},
			{isUnknown, "Unreachable", "The vCenter does not answer; the status is that of an earlier time.", connect},
			{isFalse, "Unreachable", "The vCenter does not answer, so the deletion waits.", connect},
		},
		Copies: []Copy{
			{Of: "VirtualMachine Created", From: isFalse, To: isFalse}, {Of: "VirtualMachine Created", From: isUnknown, To: isFalse},
			{Of: "VirtualMachine PowerStateSynced", From: isFalse, To: isFalse}, {Of: "VirtualMachine ProbeSucceeded"},
			{Of: "VirtualMachine PowerStateSynced", From: isUnknown, To: isFalse},
		}},
	{Type: "Stalled", Means: "The VM cannot reach its spec until a user changes an object; the message names the condition with the reason.",
		Absent: "No change of an object is required.",
		Reasons: []Reason{
			{isTrue, "Invalid", "A value cannot be used.", fixSpec},
			{isTrue, "NotAllowed", "An administrator does not allow a value.", "Use an allowed value, or ask the administrator."},
			{isTrue, "Unsupported", "This version does not support what the spec requests.", "Remove it from the spec."},
			{isTrue, "Conflict", "The spec and the instance type set the same field.", "Remove the field from the spec."},
			{isTrue, "RequirementsNotMet", "The size is below what the preference requires.", "Choose a larger instance type, or another preference."},
			{isTrue, "RecordNewer", "The object is older than its record in vSphere.", "See the condition ConfigurationSynced."},
			{isTrue, "NotApplied", "A change is not applied before the user acts.", "Take the action in the message."},
			{isTrue, "GuestShutdown", "The guest was shut down, and `spec.powerPolicy` leaves it off.", "Start the VM: `virtctl start`."},
			{isTrue, "StartRequired", "The VM went off, and `spec.powerPolicy` leaves it off.", "Start the VM: `virtctl start`."},
		}},
	{Type: "Reconciling", Means: "The VM is Ready, and a change of its spec is not applied yet.", Absent: "Nothing is pending, or the VM is not Ready.",
		Copies: []Copy{{Of: "VirtualMachine ConfigurationSynced", From: isFalse, To: isTrue}, {Of: "VirtualMachine GuestNetworkSynced", From: isFalse, To: isTrue}}},
	{Type: "Paused", Means: "Nothing is done for the VM.", Absent: "The VM is not paused.",
		Reasons: []Reason{
			{isTrue, "Paused", "The VM is paused by an annotation, by its Cluster or by an administrator in vSphere; the message names the cause.",
				"Remove the annotation, unpause the Cluster, or remove the advanced setting `slipway.paused` of the VM in vSphere."},
		}},
	{Type: "Created", Normal: isTrue, Means: "The vSphere VM exists.",
		Reasons: []Reason{
			met("The vSphere VM exists."),
			{isFalse, "WaitingForPrerequisites", "Other conditions are not True, or no zone has the VM that `spec.instanceUUID` names.", "See the conditions that the message names."},
			{isFalse, "TooManyCreates", "Other VMs are created first.", nothing},
			{isFalse, "Creating", "The vSphere VM is being created, or an interrupted create is finished.", nothing},
			{isFalse, "Invalid", "vSphere or this version cannot create such a VM, or the vSphere VM that the spec names belongs to another object.", fixSpec},
			{isFalse, "NotAllowed", "An administrator does not allow a value of the spec.", "Use an allowed value, or ask the administrator."},
			{isFalse, "Error", "The create failed.", retried},
			{isFalse, "NotEffective", "The create succeeded, and vSphere does not show the VM.", retried},
			{isUnknown, "UnknownState", "vCenter, or its inventory, could not be read.", connect},
			{isUnknown, "Unreachable", "The vCenter does not answer, so the VM is not created.", connect},
			{isUnknown, "Missing", "vSphere does not show the VM any more; `spec.whenMissing` specifies the action.",
				"Bring the VM back in vSphere, or confirm its deletion with the annotation that the message names."},
			{isUnknown, "ManyMissing", "Many VMs are missing at the same time, so none is created or deleted.",
				"Find out why vCenter does not show them; the annotation that the message names confirms the deletion of one VM."},
			{isUnknown, "CopyFound", "vSphere does not show the VM, and shows another one with its identity, which may be a copy.",
				"Confirm the right one with `virtctl adopt --copies`, or with the annotation that the message names."},
		}},
}

// reference are the reasons of a reference to an instance type, a preference or a class.
func reference(of string, more ...Reason) []Reason {
	return append([]Reason{
		met("The " + of + " is found and fits the VM."),
		{isFalse, "NotFound", "The " + of + ", or an object that it is inferred from, does not exist.", fixName},
		{isFalse, "Invalid", "The " + of + " cannot be used, or a value in it is wrong.", "Correct the reference, or the object that it names."},
		{isFalse, "Error", "The " + of + " could not be read or pinned.", nothing + " It is tried again."},
	}, more...)
}

var conflict = Reason{isFalse, "Conflict", "The spec sets a field that also comes from the size.", "Remove the field from the spec."}

// checked are the reasons of a check in vSphere.
func checked(what string, more ...Reason) []Reason {
	return append([]Reason{
		met("Found: " + what + "."),
		{isFalse, "NotFound", "vSphere does not have one of them: " + what + ".", fixVSphere},
		{isFalse, "Invalid", "One of them cannot be used: " + what + ".", fixVSphere},
		{isFalse, "Error", "vSphere could not be queried.", nothing + " It is tried again."},
	}, more...)
}

// vmPrerequisites has the conditions that a create waits for, in the order of vmv1alpha1.CreatePrerequisites.
var vmPrerequisites = []Condition{
	{Type: "InstancetypeReady", Normal: isTrue, Means: "The instance type is resolved and fits the VM.", Absent: "`spec.instancetype` is not set.",
		Reasons: reference("instance type", conflict)},
	{Type: "PreferenceReady", Normal: isTrue, Means: "The preference is resolved, and its requirements are met.", Absent: "`spec.preference` is not set.",
		Reasons: reference("preference", Reason{isFalse, "RequirementsNotMet", "The size is below what the preference requires.", "Choose a larger instance type, or another preference."})},
	{Type: "ClassReady", Normal: isTrue, Means: "The class exists.", Absent: "`spec.className` is not set.", Reasons: reference("class", conflict)},
	{Type: "ImageReady", Normal: isTrue, Means: "The image exists and can be deployed.", Absent: "The VM exists in vSphere and was adopted.",
		Reasons: checked("the image, or the VM that is cloned",
			Reason{isFalse, "NotReady", "The VM to clone is not created, is not powered off, or is about to be powered on.", "Power the source off, or name one of its snapshots in `spec.image.snapshot`."},
			Reason{isFalse, "EULANotAccepted", "The image has a license agreement that the VM does not accept.", "Read it, and accept it in the spec as the message describes."})},
	{Type: "MachineReady", Normal: isTrue, Means: "The Machine whose infrastructure the VM is allows its creation.", Absent: "The VM belongs to no Machine.",
		Reasons: []Reason{
			met("The Machine has bootstrap data, and the infrastructure of its Cluster is provisioned."),
			{isFalse, "WaitingForMachine", "No Machine owns the VM yet, or the Machine that owns it is deleted or being deleted.", "Create the Machine, or remove the label of the Cluster."},
			{isFalse, "WaitingForClusterInfrastructureReady", "The Cluster does not exist, or its infrastructure is not provisioned.", "See the conditions of the Cluster."},
			{isFalse, "WaitingForBootstrapData", "`spec.bootstrap.dataSecretName` of the Machine is not set yet.", "See the bootstrap object of the Machine."},
			{isFalse, "Invalid", "The Machine names another infrastructure object, or another failure domain than the VM's zone.", "Correct the Machine or the VM."},
			{isUnknown, "UnknownState", "The Machine or the Cluster could not be read.", nothing + " It is tried again."},
		}},
	{Type: "BootstrapReady", Normal: isTrue, Means: "All bootstrap data was read and can be used.", Absent: "`spec.bootstrap` is not set, or MachineReady is not True.",
		Reasons: []Reason{
			met("The bootstrap data is complete."),
			{isFalse, "NotFound", "A Secret, or a key in it, does not exist.", fixName},
			{isFalse, "Invalid", "The data cannot be used with the VM.", "Correct the Secret or `spec.bootstrap`."},
			{isFalse, "NotAllowed", "The server may not read the Secret.", "Grant the permission, or set the flag, that the message names."},
			{isFalse, "Error", "A Secret could not be read.", nothing + " It is tried again."},
		}},
	{Type: "StorageReady", Normal: isTrue, Means: "A datastore for each storage class, and the files for CD-ROM drives, were found.", Absent: "It was not checked yet.",
		Reasons: checked("datastore, storage class and ISO files")},
	{Type: "VolumesReady", Normal: isTrue, Means: "Each claim that `spec.volumes` names is attached or can be attached.", Absent: "No volume names a claim.",
		Reasons: []Reason{
			met("All claims can be attached."),
			{isFalse, "NotFound", "A PersistentVolumeClaim, or the PersistentVolume that it is bound to, does not exist.", fixName},
			{isFalse, "NotReady", "A claim is not bound, lost its volume, or is being deleted.", "Bind or recreate the claim; the message names it."},
			{isFalse, "InUse", "Another VM or a Node has the claim.", "Remove it there; the message names the VM or the Node."},
			{isFalse, "Invalid", "The access mode of the claim does not fit `readOnly`.", fixSpec},
			{isFalse, "Unsupported", "The volume is not a disk of the vSphere CSI driver.", "Use another claim."},
			{isFalse, "InProgress", "The claim has changed and is read again.", nothing},
			{isFalse, "Error", "The claim could not be reserved for the VM.", nothing + " It is tried again."},
			{isUnknown, "UnknownState", "The claims of the management cluster are not read yet.", "If it stays, check the server's permissions for PersistentVolumeClaims."},
		}},
	{Type: "NetworkReady", Normal: isTrue, Means: "All networks were found.", Absent: "It was not checked yet.",
		Reasons: checked("the networks of the VM", Reason{isFalse, "NotAllowed", "An administrator does not allow a network for the namespace.", "Use an allowed network, or ask the administrator."})},
	{Type: "AddressesReady", Normal: isTrue, Means: "Each pool that an interface names has provided an address.", Absent: "No interface names a pool.",
		Reasons: []Reason{
			met("All addresses are claimed."),
			{isFalse, "NotReady", "A claim for an address is being created, or the pool has not answered yet.", "If it stays, check that the pool has free addresses."},
			{isFalse, "NotFound", "The pool, or the API of IPAddressClaims, does not exist.", "Create the pool, or install an IPAM provider."},
			{isFalse, "Invalid", "The pool's answer cannot be used.", "Correct the pool or `spec.network`."},
			{isFalse, "Error", "The claim could not be read or written.", nothing + " It is tried again."},
		}},
	{Type: "PlacementReady", Normal: isTrue, Means: "A zone is chosen, and its datacenter, folder and resource pools were found.", Absent: "It was not checked yet.",
		Reasons: checked("datacenter, folder, resource pool and host of the zone",
			Reason{isFalse, "NoZone", "No zone can hold the VM; the message gives the reason for each.", "Remove the obstacle in one of them, for example by a smaller size; zones are queried again by itself."},
			Reason{isFalse, "NotAllowed", "No zone selects the namespace.", "Use another namespace, or ask the administrator to change `spec.namespaceSelector` of a Zone."},
			Reason{isUnknown, "Unreachable", "The vCenter of a zone does not answer.", connect},
			Reason{isUnknown, "UnknownState", "A zone could not be queried.", connect})},
	{Type: "ImageCacheReady", Normal: isTrue, Means: "The image is cached where the VM is created.", Absent: "Fast deploy is off for the VM.",
		Reasons: []Reason{
			met("The copies exist."),
			{isTrue, "DirectInstead", "The disks are full copies, because linked disks are not possible for this VM.", nothing},
			{isTrue, "DeployedInstead", "vSphere deploys the image, because VMs cannot be created from copies of it.", nothing},
			{isFalse, "NotReady", "The image is being copied, or waits for its turn.", "If it stays, see the conditions of the image cache that the message names."},
			{isFalse, "Invalid", "An annotation names an unknown mode of fast deploy.", "Correct the annotation that the message names."},
			{isFalse, "Error", "The copies could not be requested.", nothing + " It is tried again."},
		}},
	{Type: "Synchronized", Normal: isTrue, Means: "The effective spec was computed.",
		Reasons: []Reason{
			met("The effective spec is known."),
			{isFalse, "NotFound", "An object that the spec refers to does not exist.", fixName},
			{isFalse, "Invalid", "An object that the spec refers to cannot be used.", "Correct the reference, or the object."},
			{isFalse, "Conflict", "The spec sets a field that also comes from the size.", "Remove the field from the spec."},
			{isFalse, "RequirementsNotMet", "The size is below what the preference requires.", "Choose a larger instance type, or another preference."},
			{isFalse, "Error", "An object could not be read, or the API refused the object as the controller would change it.", retried},
		}},
}

// held are the reasons of a condition whose operation has recently failed.
func held(what string) []Reason {
	return []Reason{
		{isFalse, "Error", what + " failed.", retried},
		{isFalse, "NotEffective", what + " succeeded, and vSphere shows another value.",
			"Find out what changes it back, or whether the host supports the value; it is retried with growing delays."},
		{isFalse, "TooManyOperations", "Operations of other VMs take precedence.", nothing},
	}
}

// vmState has the conditions that compare a VirtualMachine with its spec.
var vmState = []Condition{
	{Type: "ConfigurationSynced", Normal: isTrue, Means: "The vSphere VM has the effective configuration, or `status.restartRequired` lists the differences.",
		Absent: "The VM is not created.",
		Reasons: append([]Reason{
			met("The configuration is applied; the message lists values that are not applied."),
			{isFalse, "RestartRequired", "Changes wait for a power cycle; `status.restartRequired` lists them.", "Restart the VM: `virtctl restart`."},
			{isFalse, "NotApplied", "Hardware differs from the spec and is not corrected; the message reports the values and the action.", "Take the action in the message."},
			{isFalse, "InProgress", "The configuration is being changed.", nothing},
			{isFalse, "WaitingForPrerequisites", "The effective spec, a network or a storage class is not resolved.", "See the conditions that the message names."},
			{isFalse, "Invalid", "vSphere or this version cannot apply a value.", fixSpec},
			{isFalse, "NotAllowed", "An administrator does not allow a value.", "Use an allowed value, or ask the administrator."},
			{isFalse, "RecordNewer", "The object is older than its record in vSphere, as after a restore of the store; nothing is changed.",
				"Apply the record with `virtctl recover`, or set the annotation that the message names."},
			{isUnknown, "UnknownState", "vCenter cannot reach or read the VM.", connect},
			{isUnknown, "Unreachable", "The vCenter does not answer; nothing is changed.", connect},
		}, held("The change of the configuration")...)},
	{Type: "PowerStateSynced", Normal: isTrue, Means: "The power state is as desired.", Absent: "The VM is not created.",
		Reasons: append([]Reason{
			met("The power state is as desired."),
			{isFalse, "PoweringOn", "The VM is being powered on.", nothing},
			{isFalse, "PoweringOff", "The VM is being powered off.", nothing},
			{isFalse, "Suspending", "The VM is being suspended.", nothing},
			{isFalse, "Restarting", "The VM is being restarted.", nothing},
			{isFalse, "WaitingForPrerequisites", "The power on waits for the effective spec, the configuration or a claim.", "See the condition that the message names."},
			{isFalse, "HeldByCheck", "An annotation holds the power on back; the message names it.", "Remove the annotation when its owner has finished."},
			{isFalse, "Delayed", "The power on waits for the time in an annotation.", nothing},
			{isFalse, "Invalid", "The change of the power state is not possible, or the time in an annotation is wrong.", fixSpec},
			{isFalse, "BackOff", "The VM was changed back several times, so the next attempt waits; the message gives the time.", "Find out what changes the power state, for example in the events of vSphere."},
			{isFalse, "GuestShutdown", "The guest was shut down in an orderly way, and `spec.powerPolicy` leaves it off.", "Start the VM: `virtctl start`."},
			{isFalse, "StartRequired", "The VM went off, and `spec.powerPolicy` leaves it off.", "Start the VM: `virtctl start`."},
			{isFalse, "Paused", "An administrator paused the VM in vSphere.", "Remove the advanced setting `slipway.paused` of the VM in vSphere."},
			{isUnknown, "UnknownState", "vCenter cannot reach or read the VM.", connect},
			{isUnknown, "Unreachable", "The vCenter does not answer.", connect},
		}, held("The power operation")...)},
	{Type: "SnapshotSynced", Normal: isTrue, Means: "The VM was reverted to the snapshot that the spec named.", Absent: "No revert was requested.",
		Reasons: append([]Reason{
			met("The VM and its object match the snapshot."),
			{isFalse, "Reverting", "The VM is being reverted, or its object is being restored; the message gives the error.", "Nothing, unless the message reports a cause to repair."},
			{isFalse, "NotFound", "The snapshot does not exist.", "Correct `spec.currentSnapshotName`, or remove it."},
			{isFalse, "NotReady", "The snapshot is not Ready.", "See the conditions of the VirtualMachineSnapshot."},
			{isFalse, "Invalid", "The snapshot is of another VM, or a revert would detach disks of claims.", "Name another snapshot, or remove the volumes of the claims."},
		}, held("The revert")...)},
	{Type: "DiskPromotionSynced", Normal: isTrue, Means: "No disk depends on a disk elsewhere.", Absent: "`spec.promoteDisksMode` is Disabled, or the VM is not created.",
		Reasons: []Reason{
			met("All disks are independent."),
			{isFalse, "Pending", "Disks depend on disks elsewhere and wait for their promotion; the message names the obstacle.", "Nothing, or power the VM on or off as `spec.promoteDisksMode` requires."},
			{isFalse, "Running", "Disks are being promoted.", nothing},
			{isFalse, "TaskError", "The promotion failed.", retried},
		}},
	{Type: "BackupUpToDate", Normal: isTrue, Means: "The vSphere VM has a current record of the object, from which `virtctl recover` recreates it.", Absent: "The VM is not created.",
		Reasons: []Reason{
			met("The record is current."),
			{isFalse, "Pending", "Only labels, annotations or groups have changed; the record is written later.", nothing},
			{isFalse, "Suspended", "The record is written when the VM is not suspended any more.", "Nothing, or resume the VM."},
			{isFalse, "TooLarge", "The object is too large for a record.", "Make labels, annotations or the spec smaller."},
			{isFalse, "RecordNewer", "The object is older than its record.", "Apply the record with `virtctl recover`, or set the annotation that the message names."},
			{isFalse, "Error", "The record could not be composed or written.", retried},
			{isFalse, "NotEffective", "The record was written, and vSphere shows another one.", "Find out what changes the VM's extraConfig."},
		}},
	{Type: "GroupLinked", Normal: isTrue, Means: "The VM and the group that `spec.groupName` names refer to each other.", Absent: "`spec.groupName` is not set.",
		Reasons: []Reason{
			met("The VM is a member of the group."),
			{isFalse, "NotFound", "The VirtualMachineGroup does not exist.", "Create the group, or correct `spec.groupName`."},
			{isFalse, "NotLinked", "`spec.bootOrder` of the group does not name the VM.", "Add the VM to `spec.bootOrder` of the group."},
		}},
}

// vmReports contains the conditions that report the state in vSphere and in the guest.
var vmReports = []Condition{
	{Type: "MACAddressesUnique", Means: "No other VM has a MAC address of this one.", Absent: "No other VM has a MAC address of this one.",
		Reasons: []Reason{{isFalse, "Conflict", "Another VM has a MAC address of this VM; the message names both.", "Change `macAddress` of an interface of one of them."}}},
	{Type: "GuestNetworkSynced", Normal: isTrue, Means: "The guest has the settings that only the guest can apply: addresses, host name, DNS and bootstrap data.",
		Absent: "The spec has no such settings.",
		Reasons: []Reason{
			met("The guest was configured with the settings of the spec."),
			{isFalse, "NotApplied", "A setting was changed after the first boot; the message reports both values.", "Take the action in the message, for example set a new `spec.bootstrap.cloudInit.instanceID`."},
			{isFalse, "InProgress", "The data of a new instance ID are yet to be handed over.", nothing},
			{isFalse, "RestartRequired", "The setting is applied at the next power cycle.", "Restart the VM: `virtctl restart`."},
		}},
	{Type: "ProbeSucceeded", Normal: isTrue, Means: "The readiness probe succeeds.", Absent: "`spec.readinessProbe` is not set.",
		Reasons: []Reason{
			met("The guest is ready."),
			{isFalse, "PoweredOff", "The VM does not run and is not probed.", "Nothing, or power the VM on."},
			{isFalse, "WaitingForIP", "The guest has no address to probe.", "If it stays, check VMware Tools and the guest's network."},
			{isFalse, "NotReady", "The probe failed; the message contains the answer of the guest.", "Check the service in the guest, or the probe."},
			{isUnknown, "NotReady", "The probe has no result yet.", nothing},
			{isUnknown, "Unsupported", "This server does not run probes of this kind.", "Use another kind of probe."},
		}},
	{Type: "GuestToolsReady", Normal: isTrue, Means: "VMware Tools runs.", Absent: "The VM is not created.",
		Reasons: []Reason{
			met("VMware Tools runs."),
			{isFalse, "PoweredOff", "The VM does not run.", nothing},
			{isFalse, "WaitingForTools", "VMware Tools is not running.", "Install or start VMware Tools in the guest."},
			{isUnknown, "UnknownState", "vSphere reports no guest information.", nothing},
		}},
	{Type: "GuestCustomized", Normal: isTrue, Means: "The guest customization has succeeded.", Absent: "The VM was created without guest customization.",
		Reasons: []Reason{
			met("The guest is customized."),
			{isFalse, "InProgress", "The customization is running, or begins at the next start.", "Nothing, or power the VM on."},
			{isFalse, "Error", "The customization failed; the message has the guest's error.", "Correct the cause and recreate the VM."},
		}},
	{Type: "BootstrapDataRemoved", Normal: isTrue, Means: "The values of Secrets are no longer in the vSphere VM.", Absent: "`spec.bootstrap.removeAfterFirstBoot` is not set.",
		Reasons: []Reason{
			met("The data is removed."),
			{isFalse, "InProgress", "The guest has not reported that it has read the data.", "If it stays, check cloud-init, Ignition and VMware Tools in the guest."},
		}},
	{Type: "QuestionsAnswered", Means: "vSphere does not wait for an answer.", Absent: "There is no question.",
		Reasons: []Reason{{isFalse, "QuestionPending", "vSphere waits for an answer and does nothing with the VM until then.", "Answer the question in vSphere."}}},
	{Type: "DisksConsolidated", Means: "No disk has files of deleted snapshots.", Absent: "There are no such files.",
		Reasons: []Reason{{isFalse, "ConsolidationNeeded", "Disks have files of deleted snapshots, which grow.", "Consolidate the disks in vSphere."}}},
	{Type: "StorageCompliant", Normal: isTrue, Means: "The VM and its disks comply with their storage policies.", Absent: "They have no storage policies.",
		Reasons: []Reason{
			met("vSphere reports compliance."),
			{isFalse, "NonCompliant", "vSphere reports that the VM or a disk does not comply with its policy.", "Reapply the policy in vSphere, or choose another storage class."},
			{isUnknown, "UnknownState", "vSphere has not reported compliance yet.", nothing},
		}},
	{Type: "LocationValid", Means: "The VM is below the managed folder.", Absent: "The VM is below the managed folder.",
		Reasons: []Reason{{isFalse, "Moved", "The VM was moved out of the managed folder; it is still managed.", "Move it back in vSphere."}}},
}
