// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a VirtualMachine. True is the normal status, except for the last three, which are absent unless
// they are True.
const (
	// ConditionReady is True when the VM exists, has the desired power state and, if it is powered on with a network,
	// has an IP address. With a readiness probe or waitForTools, these checks must also succeed.
	ConditionReady = "Ready"
	// ConditionCreated is True when the vSphere VM exists.
	ConditionCreated = "Created"
	// ConditionClassReady is True when the class exists.
	ConditionClassReady = "ClassReady"
	// ConditionInstancetypeReady is True when the instance type is resolved and
	// fits the VM.
	ConditionInstancetypeReady = "InstancetypeReady"
	// ConditionPreferenceReady is True when the preference is resolved and its
	// requirements are met.
	ConditionPreferenceReady = "PreferenceReady"
	// ConditionImageReady is True when the image exists and can be deployed.
	ConditionImageReady = "ImageReady"
	// ConditionImageCacheReady is True when the image is cached on the datastore of the VM.
	ConditionImageCacheReady = "ImageCacheReady"
	// ConditionBootstrapReady is True when all bootstrap data was read.
	ConditionBootstrapReady = "BootstrapReady"
	// ConditionBootstrapDataRemoved is True when the vSphere VM no longer contains the data that was read from Secrets.
	// It is absent unless removeAfterFirstBoot is set.
	ConditionBootstrapDataRemoved = "BootstrapDataRemoved"
	// ConditionMachineReady is True when the VM can be created for its Machine: the Machine refers to the VM and has
	// bootstrap data, and the infrastructure of its cluster is provisioned. It does not change after creation. It is
	// absent if the VM does not belong to a Machine.
	ConditionMachineReady = "MachineReady"
	// ConditionStorageReady is True when the datastore and the storage class are usable.
	ConditionStorageReady = "StorageReady"
	// ConditionVolumesReady is True when every PersistentVolumeClaim of the VM is attached or can be attached. It is
	// absent if the VM has none.
	ConditionVolumesReady = "VolumesReady"
	// ConditionNetworkReady is True when all networks were found.
	ConditionNetworkReady = "NetworkReady"
	// ConditionMACAddressesUnique is False when another VM has the same MAC address. It is absent otherwise.
	ConditionMACAddressesUnique = "MACAddressesUnique"
	// ConditionAddressesReady is True when every address pool of the interfaces has assigned an address. It is absent if
	// no interface uses a pool.
	ConditionAddressesReady = "AddressesReady"
	// ConditionPlacementReady is True when a zone is chosen and its datacenter, folder and resource pools are found.
	ConditionPlacementReady = "PlacementReady"
	// ConditionConfigurationSynced is True when the vSphere VM has the effective configuration. Differences that are
	// listed in status.restartRequired do not count.
	ConditionConfigurationSynced = "ConfigurationSynced"
	// ConditionPowerStateSynced is True when the VM has the desired power state.
	ConditionPowerStateSynced = "PowerStateSynced"
	// ConditionProbeSucceeded is True when the readiness probe succeeds. It is False when the probe fails or does not
	// run because the VM does not run. It is absent if there is no probe.
	ConditionProbeSucceeded = "ProbeSucceeded"
	// ConditionGuestToolsReady is True when VMware Tools runs.
	ConditionGuestToolsReady = "GuestToolsReady"
	// ConditionDiskPromotionSynced is True when no linked-clone disk remains to be promoted.
	ConditionDiskPromotionSynced = "DiskPromotionSynced"
	// ConditionGuestCustomized is True when the guest customization of a new VM has succeeded. It is absent if there is
	// no guest customization.
	ConditionGuestCustomized = "GuestCustomized"
	// ConditionGuestNetworkSynced is True when the guest has the settings that only the guest can apply: addresses, host
	// name, DNS and bootstrap data. It is False when one of them was changed after the first boot; the message contains
	// both values and the required action. It is absent if the spec has no such settings.
	ConditionGuestNetworkSynced = "GuestNetworkSynced"
	// ConditionQuestionsAnswered is False when the VM is blocked by a vSphere question. It is absent otherwise.
	ConditionQuestionsAnswered = "QuestionsAnswered"
	// ConditionDisksConsolidated is False when disks have files of deleted snapshots. It is absent otherwise.
	ConditionDisksConsolidated = "DisksConsolidated"
	// ConditionStorageCompliant is True when vSphere reports that the VM and its disks comply with their storage
	// policies. It is absent if they have no storage policy.
	ConditionStorageCompliant = "StorageCompliant"
	// ConditionLocationValid is False when the VM was moved out of the managed folder. It is absent otherwise.
	ConditionLocationValid = "LocationValid"
	// ConditionSynchronized is False when a synchronizer failed. The message contains all failures.
	ConditionSynchronized = "Synchronized"
	// ConditionSnapshotSynced is False while the VM must be reverted to the snapshot in its spec, and True after it was
	// reverted.
	ConditionSnapshotSynced = "SnapshotSynced"
	// ConditionGroupLinked is True when a VM or group and the group in its spec refer to each other. It is absent if the
	// spec does not refer to a group.
	ConditionGroupLinked = "GroupLinked"
	// ConditionBackupUpToDate is True when the vSphere VM contains an up-to-date record of the object, from which
	// virtctl recover can recreate the object.
	ConditionBackupUpToDate = "BackupUpToDate"
	// ConditionPaused is True when reconciling is paused, by annotation or by an administrator in vSphere. It is absent
	// otherwise.
	ConditionPaused = "Paused"
	// ConditionReconciling is True while a Ready VM is being updated to match its spec. It is absent otherwise, also for
	// a VM that is not Ready. The names Reconciling and Stalled follow the kstatus convention.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True when the VM cannot match its spec until a user changes an object. The message contains
	// the reason. It is absent otherwise.
	ConditionStalled = "Stalled"
)

// Condition types of a VCenter, in addition to ConditionReady, which is True when the server is connected to the
// vCenter and has read its inventory.
const (
	// ConditionConnected is True when the vCenter responds and accepts the credentials.
	ConditionConnected = "Connected"
	// ConditionDeleting is True when the object is marked for deletion but cannot be deleted yet.
	ConditionDeleting = "Deleting"
)

// Condition types of a Zone are ConditionReady, which is True when virtual machines can be created in it, and
// ConditionDeleting.

// Condition types of a VirtualMachineGroup are ConditionGroupLinked, ConditionPowerStateSynced and ConditionReady.
// PowerStateSynced is True when the group has requested its power state from all members, and each has this power state
// or the one in its own spec. Ready is True when all members are also linked and Ready.

// Condition types of a SlipwayCluster are ConditionReady, which is True when it is provisioned and all of its zones are
// usable, and ConditionPaused.

// Condition types of an image, in addition to ConditionReady, which is True when vSphere has the image and virtual
// machines can be created from it.
const (
	// ConditionOVFReady is True when status completely describes the current content of the image. It is present only
	// for an OVF item.
	ConditionOVFReady = "OVFReady"
	// ConditionSettingsApplied is True when virtual machines of the image get all settings and devices that it requests.
	// It is present only for an OVF item.
	ConditionSettingsApplied = "SettingsApplied"
)

// Condition types of an image cache, in addition to ConditionReady, which is True when all copies exist, and
// ConditionOVFReady.
const (
	// ConditionProviderReady is True when every vCenter of the locations has the image.
	ConditionProviderReady = "ProviderReady"
	// ConditionFilesReady is True when all files are copied to all locations.
	ConditionFilesReady = "FilesReady"
)

// Condition types of a request to publish a virtual machine.
const (
	// ConditionSourceValid is True when the virtual machine exists and can be published.
	ConditionSourceValid = "SourceValid"
	// ConditionTargetValid is True when the library accepts the item.
	ConditionTargetValid = "TargetValid"
	// ConditionUploaded is True when the library contains the item.
	ConditionUploaded = "Uploaded"
	// ConditionImageAvailable is True when an image object for the item exists.
	ConditionImageAvailable = "ImageAvailable"
	// ConditionComplete is True when the request has completed.
	ConditionComplete = "Complete"
)

// Condition reasons.
const (
	// ReasonPromotionPending, ReasonPromotionRunning and ReasonPromotionFailed are reasons of DiskPromotionSynced: the
	// promotion of disks is waiting, is running or has failed.
	ReasonPromotionPending = "Pending"
	ReasonPromotionRunning = "Running"
	ReasonPromotionFailed  = "TaskError"
	// ReasonDirectInstead is a reason of ImageCacheReady: linked clones were requested but are not possible, so the
	// disks are full copies.
	ReasonDirectInstead = "DirectInstead"
	// ReasonDeployedInstead is a reason of ImageCacheReady: virtual machines cannot be created from cached copies of the
	// image, so vSphere deploys it.
	ReasonDeployedInstead = "DeployedInstead"
	// ReasonSucceeded is the reason of most True conditions.
	ReasonSucceeded = "Succeeded"
	// ReasonNotFound means that a referenced object does not exist.
	ReasonNotFound = "NotFound"
	// ReasonNoZone means that no zone can hold a VM. The message lists the reason for each zone.
	ReasonNoZone = "NoZone"
	// ReasonNameTaken means that the name is already used by something that the object does not own.
	ReasonNameTaken = "NameTaken"
	// ReasonPublishing means that the item is being created.
	ReasonPublishing = "Publishing"
	// ReasonSourceBusy means that another operation of the virtual machine must finish first.
	ReasonSourceBusy = "SourceBusy"
	// ReasonNotReady means that a referenced object is not usable yet.
	ReasonNotReady = "NotReady"
	// ReasonReverting means that the VM is being reverted to a snapshot, or that it was reverted and its object is being
	// restored.
	ReasonReverting = "Reverting"
	// ReasonError means that an operation failed. The message describes the error.
	ReasonError = "Error"
	// ReasonInvalid means that a value cannot be used.
	ReasonInvalid = "Invalid"
	// ReasonDefaultConfiguration means that an image has several configurations and that virtual machines get the
	// default one.
	ReasonDefaultConfiguration = "DefaultConfiguration"
	// ReasonEULANotAccepted means that an image has a license agreement that the virtual
	// machine does not accept.
	ReasonEULANotAccepted = "EULANotAccepted"
	// ReasonIncomplete means that status does not list all that an image has.
	ReasonIncomplete = "Incomplete"
	// ReasonNotAllowed means that an administrator does not allow a value.
	ReasonNotAllowed = "NotAllowed"
	// ReasonNotEffective means that an operation succeeded but vSphere still reports another value.
	ReasonNotEffective = "NotEffective"
	// ReasonNotApplied means that a requested value is not applied until the user acts; the message contains the action.
	// On SettingsApplied it means that an image requests settings or devices that its virtual machines do not get.
	ReasonNotApplied = "NotApplied"
	// ReasonMissing means that vSphere no longer reports the VM.
	ReasonMissing = "Missing"
	// ReasonCopyFound means that vSphere does not report the VM but reports others with the same UUID. Each of them can
	// be the VM under another managed object ID, or a copy of it.
	ReasonCopyFound = "CopyFound"
	// ReasonClockSkew is a reason of Connected: the clocks of the vCenter and the server differ.
	ReasonClockSkew = "ClockSkew"
	// ReasonMoved means that the VM is not in the folder in which it was created.
	ReasonMoved = "Moved"
	// ReasonManyMissing means that so many VMs are missing at the same time that nothing is created or deleted until a
	// user confirms that they were deleted.
	ReasonManyMissing = "ManyMissing"
	// ReasonCreating means that the vSphere VM is being created.
	ReasonCreating = "Creating"
	// ReasonWaitingForPrerequisites means that other conditions are not True.
	ReasonWaitingForPrerequisites = "WaitingForPrerequisites"
	// ReasonTooManyCreates means that the VM waits for a free slot because too many VMs are being created.
	ReasonTooManyCreates = "TooManyCreates"
	// ReasonTooManyOperations means that the operation waits for a free slot because too many operations of its type are
	// running.
	ReasonTooManyOperations = "TooManyOperations"
	// ReasonInProgress means that an operation is running.
	ReasonInProgress = "InProgress"
	// ReasonPoweringOn means that the VM is being powered on.
	ReasonPoweringOn = "PoweringOn"
	// ReasonPoweringOff means that the VM is being powered off.
	ReasonPoweringOff = "PoweringOff"
	// ReasonSuspending means that the VM is being suspended.
	ReasonSuspending = "Suspending"
	// ReasonRestarting means that the VM is being restarted.
	ReasonRestarting = "Restarting"
	// ReasonBackOff means that a power operation succeeded but was undone several times, and that the next attempt is
	// delayed.
	ReasonBackOff = "BackOff"
	// ReasonGuestShutdown means that the VM was shut down in an orderly way. Because of its powerPolicy, it stays off
	// until a start is requested.
	ReasonGuestShutdown = "GuestShutdown"
	// ReasonStartRequired means that the VM powered off unexpectedly. Because of its powerPolicy, it stays off until a
	// start is requested.
	ReasonStartRequired = "StartRequired"
	// ReasonDelayed means that a power on or a step of a group waits for a configured delay or time.
	ReasonDelayed = "Delayed"
	// ReasonHeldByCheck means that an annotation blocks the power on or the deletion of the VM.
	ReasonHeldByCheck = "HeldByCheck"
	// ReasonPending means that the step of a group member has not started. For the record of an object, it means that a
	// change of labels or annotations is not written yet, because such writes are delayed.
	ReasonPending = "Pending"
	// ReasonWaitingForMembers means that a step of a group waits for members of the previous step.
	ReasonWaitingForMembers = "WaitingForMembers"
	// ReasonNotLinked means that a group and its member do not refer to each other.
	ReasonNotLinked = "NotLinked"
	// ReasonWaitingForIP means that the guest has no address yet.
	ReasonWaitingForIP = "WaitingForIP"
	// ReasonWaitingForTools means that VMware Tools does not run yet.
	ReasonWaitingForTools = "WaitingForTools"
	// ReasonRestartRequired means that changes wait for a power cycle.
	ReasonRestartRequired = "RestartRequired"
	// ReasonUnknownState means that vSphere could not be read.
	ReasonUnknownState = "UnknownState"
	// ReasonUnsupported means that this version does not support the request.
	ReasonUnsupported = "Unsupported"
	// ReasonConflict means that spec and instance type set the same field, or that another VM has a value that must be
	// unique.
	ReasonConflict = "Conflict"
	// ReasonRequirementsNotMet means that the size is less than the preference requires.
	ReasonRequirementsNotMet = "RequirementsNotMet"
	// ReasonWaitingForMachine means that, according to its labels or owners, the VM is created for a Machine, but no
	// Machine owns it yet.
	ReasonWaitingForMachine = "WaitingForMachine"
	// ReasonWaitingForClusterInfrastructure means that the Cluster of the Machine does not report yet that its
	// infrastructure is provisioned.
	ReasonWaitingForClusterInfrastructure = "WaitingForClusterInfrastructureReady"
	// ReasonWaitingForBootstrapData means that the Machine does not refer to a Secret with bootstrap data yet.
	ReasonWaitingForBootstrapData = "WaitingForBootstrapData"
	// ReasonWaitingForEndpoint means that the endpoint of a cluster's API server is not known yet.
	ReasonWaitingForEndpoint = "WaitingForControlPlaneEndpoint"
	// ReasonPaused means that reconciling is paused.
	ReasonPaused = "Paused"
	// ReasonDeleting means that the VM is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonPoweredOff means that the VM is powered off, as desired.
	ReasonPoweredOff = "PoweredOff"
	// ReasonRecordNewer means that the object is older than the record of it in the vSphere VM, for example after the
	// store was restored from a backup.
	ReasonRecordNewer = "RecordNewer"
	// ReasonTooLarge means that a value is larger than its storage allows.
	ReasonTooLarge = "TooLarge"
	// ReasonSuspended means that an operation waits until the VM is no longer suspended.
	ReasonSuspended = "Suspended"
	// ReasonQuestionPending means that vSphere waits for an answer to a question.
	ReasonQuestionPending = "QuestionPending"
	// ReasonUnreachable means that the server does not respond, or does not respond like a vCenter.
	ReasonUnreachable = "Unreachable"
	// ReasonUntrusted means that a certificate is not trusted.
	ReasonUntrusted = "Untrusted"
	// ReasonLoginRefused means that the credentials were rejected or are missing.
	ReasonLoginRefused = "LoginRefused"
	// ReasonOtherVCenter means that a vCenter with another instance UUID responds at the URL.
	ReasonOtherVCenter = "OtherInstallation"
	// ReasonInUse means that other objects still use the object that is being deleted.
	ReasonInUse = "InUse"
	// ReasonNotRemoved means that something must be removed but could not be removed yet.
	ReasonNotRemoved = "NotRemoved"
	// ReasonNonCompliant means that the VM or a disk does not comply with its storage policy.
	ReasonNonCompliant = "NonCompliant"
	// ReasonConsolidationNeeded means that disks must be consolidated.
	ReasonConsolidationNeeded = "ConsolidationNeeded"
)

// CreatePrerequisites are the types of the conditions that must be True before a VM is created, in the order in which
// they are reported.
var CreatePrerequisites = []string{
	ConditionInstancetypeReady, ConditionPreferenceReady, ConditionClassReady,
	ConditionImageReady, ConditionMachineReady, ConditionBootstrapReady, ConditionStorageReady, ConditionVolumesReady,
	ConditionNetworkReady, ConditionAddressesReady, ConditionPlacementReady, ConditionImageCacheReady,
}
