// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of a VirtualMachine. True is good, but for the last three,
// which are there only while they are True.
const (
	// ConditionReady is True when the VM is as its spec wants it: created, in
	// the desired power state and, if powered on with a network, reachable by an
	// address; with a readiness probe or waitForTools, when these say so too.
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
	// ConditionImageCacheReady is True when the image is cached where the VM goes.
	ConditionImageCacheReady = "ImageCacheReady"
	// ConditionBootstrapReady is True when all bootstrap data was read.
	ConditionBootstrapReady = "BootstrapReady"
	// ConditionBootstrapDataRemoved is True when what was read from Secrets is no longer in
	// the vSphere VM. It is absent unless that was asked for.
	ConditionBootstrapDataRemoved = "BootstrapDataRemoved"
	// ConditionMachineReady is True when the Machine whose infrastructure the VM is lets it be
	// created: it names the VM, it has bootstrap data, and the infrastructure of its cluster is
	// there. It stays as it was then. A VM of no Machine has none.
	ConditionMachineReady = "MachineReady"
	// ConditionStorageReady is True when datastore and storage class are usable.
	ConditionStorageReady = "StorageReady"
	// ConditionVolumesReady is True when every claim that the VM names is attached or can
	// be; absent without claims.
	ConditionVolumesReady = "VolumesReady"
	// ConditionNetworkReady is True when all networks were found.
	ConditionNetworkReady = "NetworkReady"
	// ConditionMACAddressesUnique is False while another VM has a MAC address of this one;
	// absent otherwise.
	ConditionMACAddressesUnique = "MACAddressesUnique"
	// ConditionAddressesReady is True when every pool that an interface names has given an
	// address; there is none without pools.
	ConditionAddressesReady = "AddressesReady"
	// ConditionPlacementReady is True when a zone is chosen, and its datacenter, folder
	// and resource pools were found.
	ConditionPlacementReady = "PlacementReady"
	// ConditionConfigurationSynced is True when the vSphere VM has the effective
	// configuration, or what differs is listed in status.restartRequired.
	ConditionConfigurationSynced = "ConfigurationSynced"
	// ConditionPowerStateSynced is True when the power state is as desired.
	ConditionPowerStateSynced = "PowerStateSynced"
	// ConditionProbeSucceeded is True when the readiness probe says that the guest is ready,
	// False when it says that it is not or none is made, because the VM does not run; there
	// is none without a probe.
	ConditionProbeSucceeded = "ProbeSucceeded"
	// ConditionGuestToolsReady is True when VMware Tools runs.
	ConditionGuestToolsReady = "GuestToolsReady"
	// ConditionDiskPromotionSynced is True when no linked-clone disk is left to
	// promote.
	ConditionDiskPromotionSynced = "DiskPromotionSynced"
	// ConditionGuestCustomized is True when the guest customization that the VM was
	// created with has succeeded; absent without one.
	ConditionGuestCustomized = "GuestCustomized"
	// ConditionGuestNetworkSynced is True when the guest has the settings that only the guest
	// can apply: addresses, host name, DNS and bootstrap data. It is False when one of them was
	// changed after the first boot; the message names both values and the action. It is absent
	// if the spec has no such settings.
	ConditionGuestNetworkSynced = "GuestNetworkSynced"
	// ConditionQuestionsAnswered is False while vSphere asks a question that blocks
	// the VM; absent otherwise.
	ConditionQuestionsAnswered = "QuestionsAnswered"
	// ConditionDisksConsolidated is False while disks have files of snapshots that
	// are gone; absent otherwise.
	ConditionDisksConsolidated = "DisksConsolidated"
	// ConditionStorageCompliant is True when vSphere found the VM and its disks compliant
	// with their storage policies, and absent while they have none.
	ConditionStorageCompliant = "StorageCompliant"
	// ConditionLocationValid is False for a VM that was moved out of the managed folder,
	// and absent for others.
	ConditionLocationValid = "LocationValid"
	// ConditionSynchronized is False when a synchronizer failed; the message
	// holds every failure.
	ConditionSynchronized = "Synchronized"
	// ConditionSnapshotSynced is False while the VM is not what it was at the snapshot that
	// its spec names, and True since it was last reverted to one.
	ConditionSnapshotSynced = "SnapshotSynced"
	// ConditionGroupLinked is True when a VM, or a group, and the group that its spec names
	// name each other. It is there only if the spec names one.
	ConditionGroupLinked = "GroupLinked"
	// ConditionBackupUpToDate is True when the vSphere VM keeps a record of the object as it
	// is, by which virtctl recover makes it again.
	ConditionBackupUpToDate = "BackupUpToDate"
	// ConditionPaused is True while reconciling is paused, by annotation or by an
	// administrator in vSphere, and not there otherwise.
	ConditionPaused = "Paused"
	// ConditionReconciling is True while a VM that is Ready is still being brought to its
	// spec, and not there otherwise: a VM that is not Ready says so by that. The name and
	// that of Stalled are those of the kstatus convention.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True while the VM cannot become what its spec says before
	// somebody changes an object, and not there otherwise. The message says why.
	ConditionStalled = "Stalled"
)

// Condition types of a VCenter, beside ConditionReady, which is True while it is connected
// to and its inventory is read.
const (
	// ConditionConnected is True while the vCenter answers and takes the credentials.
	ConditionConnected = "Connected"
	// ConditionDeleting is True while the VCenter is to go and cannot yet.
	ConditionDeleting = "Deleting"
)

// Condition types of a Zone are ConditionReady, which is True while virtual machines can be
// made in it, and ConditionDeleting.

// Condition types of a VirtualMachineGroup are ConditionGroupLinked, ConditionPowerStateSynced,
// which is True when all members were asked for the power state of the group and have it, or
// their own, and ConditionReady, which is True when they are also linked and Ready themselves.

// Condition types of a SlipwayCluster are ConditionReady, which is True when it is provisioned and
// all zones that it names can be used, and ConditionPaused.

// Condition types of an image, beside ConditionReady, which is True when vSphere has the
// image and virtual machines can be made from it.
const (
	// ConditionOVFReady is True when status describes the present content of the image,
	// completely. It is there for an OVF item only.
	ConditionOVFReady = "OVFReady"
	// ConditionSettingsApplied is True when virtual machines of the image get all settings and
	// devices that it requests. It is there for an OVF item only.
	ConditionSettingsApplied = "SettingsApplied"
)

// Condition types of an image cache, beside ConditionReady, which is True when all copies are
// where they are to be, and ConditionOVFReady.
const (
	// ConditionProviderReady is True when the image was found in every vCenter that is
	// to have copies.
	ConditionProviderReady = "ProviderReady"
	// ConditionFilesReady is True when all files are copied in all locations.
	ConditionFilesReady = "FilesReady"
)

// Condition types of a request to publish a virtual machine.
const (
	// ConditionSourceValid is True when the virtual machine exists and can be published.
	ConditionSourceValid = "SourceValid"
	// ConditionTargetValid is True when the library takes the item.
	ConditionTargetValid = "TargetValid"
	// ConditionUploaded is True when the library has the item.
	ConditionUploaded = "Uploaded"
	// ConditionImageAvailable is True when an image stands for the item.
	ConditionImageAvailable = "ImageAvailable"
	// ConditionComplete is True when there is nothing left to do.
	ConditionComplete = "Complete"
)

// Condition reasons.
const (
	// ReasonPromotionPending, ReasonPromotionRunning and ReasonPromotionFailed accompany
	// DiskPromotionSynced: disks wait to be made independent, are being, or could not be.
	ReasonPromotionPending = "Pending"
	ReasonPromotionRunning = "Running"
	ReasonPromotionFailed  = "TaskError"
	// ReasonDirectInstead accompanies ImageCacheReady: the disks could not depend on those
	// of the image, as was asked for, and are copies.
	ReasonDirectInstead = "DirectInstead"
	// ReasonDeployedInstead accompanies ImageCacheReady: vSphere deploys the image, of whose
	// copies no virtual machine can be made.
	ReasonDeployedInstead = "DeployedInstead"
	// ReasonSucceeded accompanies most True conditions.
	ReasonSucceeded = "Succeeded"
	// ReasonNotFound means that a referenced object does not exist.
	ReasonNotFound = "NotFound"
	// ReasonNoZone means that no zone can hold a VM; the message says why each cannot.
	ReasonNoZone = "NoZone"
	// ReasonNameTaken means that something of the name belongs to somebody else.
	ReasonNameTaken = "NameTaken"
	// ReasonPublishing means that the item is being made.
	ReasonPublishing = "Publishing"
	// ReasonSourceBusy means that another operation of the virtual machine comes first.
	ReasonSourceBusy = "SourceBusy"
	// ReasonNotReady means that a referenced object is not usable yet.
	ReasonNotReady = "NotReady"
	// ReasonReverting means that the VM is being reverted to a snapshot, or was and its
	// object is being restored.
	ReasonReverting = "Reverting"
	// ReasonError means that an operation failed; the message says which.
	ReasonError = "Error"
	// ReasonInvalid means that a value cannot be used.
	ReasonInvalid = "Invalid"
	// ReasonDefaultConfiguration means that an image has several configurations, of which
	// virtual machines get the default one.
	ReasonDefaultConfiguration = "DefaultConfiguration"
	// ReasonEULANotAccepted means that an image has a license agreement that the virtual
	// machine does not accept.
	ReasonEULANotAccepted = "EULANotAccepted"
	// ReasonIncomplete means that status does not list all that an image has.
	ReasonIncomplete = "Incomplete"
	// ReasonNotAllowed means that an administrator does not let VMs have a value.
	ReasonNotAllowed = "NotAllowed"
	// ReasonNotEffective means that an operation succeeded and vSphere shows another
	// value all the same.
	ReasonNotEffective = "NotEffective"
	// ReasonNotApplied means that a requested value is not applied, and is not going to be
	// before the user acts; the message names the action. On SettingsApplied it means that an
	// image requests settings or devices that its virtual machines do not get.
	ReasonNotApplied = "NotApplied"
	// ReasonMissing means that vSphere had the VM and does not show it any more.
	ReasonMissing = "Missing"
	// ReasonCopyFound means that vSphere does not show the VM, but others that have its identity:
	// each may be the VM under another managed object ID, or a copy of it.
	ReasonCopyFound = "CopyFound"
	// ReasonClockSkew accompanies Connected: the clocks of vCenter and the server differ.
	ReasonClockSkew = "ClockSkew"
	// ReasonMoved means that the VM is not where it was made.
	ReasonMoved = "Moved"
	// ReasonManyMissing means that so many VMs are missing at once that nothing is
	// created or deleted until somebody says that they are gone.
	ReasonManyMissing = "ManyMissing"
	// ReasonCreating means that the vSphere VM is being created.
	ReasonCreating = "Creating"
	// ReasonWaitingForPrerequisites means that other conditions are not True.
	ReasonWaitingForPrerequisites = "WaitingForPrerequisites"
	// ReasonTooManyCreates means that other creates go first.
	ReasonTooManyCreates = "TooManyCreates"
	// ReasonTooManyOperations means that other operations of the kind go first.
	ReasonTooManyOperations = "TooManyOperations"
	// ReasonInProgress means that an operation runs.
	ReasonInProgress = "InProgress"
	// ReasonPoweringOn means that the VM is being powered on.
	ReasonPoweringOn = "PoweringOn"
	// ReasonPoweringOff means that the VM is being powered off.
	ReasonPoweringOff = "PoweringOff"
	// ReasonSuspending means that the VM is being suspended.
	ReasonSuspending = "Suspending"
	// ReasonRestarting means that the VM is being restarted.
	ReasonRestarting = "Restarting"
	// ReasonBackOff means that a power operation has succeeded and was undone several times, and
	// the next attempt waits.
	ReasonBackOff = "BackOff"
	// ReasonGuestShutdown means that the VM was shut down in an orderly way, and its powerPolicy
	// leaves it off until a start is requested.
	ReasonGuestShutdown = "GuestShutdown"
	// ReasonStartRequired means that the VM went off by itself, and its powerPolicy leaves it off
	// until a start is requested.
	ReasonStartRequired = "StartRequired"
	// ReasonDelayed means that a power on, or a step of a group, waits for its time.
	ReasonDelayed = "Delayed"
	// ReasonHeldByCheck means that an annotation keeps the VM from being powered on or deleted.
	ReasonHeldByCheck = "HeldByCheck"
	// ReasonPending means that the step of a member of a group has yet to begin, or that a
	// record is not written again so soon for labels and annotations alone.
	ReasonPending = "Pending"
	// ReasonWaitingForMembers means that a step of a group waits for members of the one
	// before it.
	ReasonWaitingForMembers = "WaitingForMembers"
	// ReasonNotLinked means that a group and its member do not name each other.
	ReasonNotLinked = "NotLinked"
	// ReasonWaitingForIP means that the guest has no address yet.
	ReasonWaitingForIP = "WaitingForIP"
	// ReasonWaitingForTools means that VMware Tools does not run yet.
	ReasonWaitingForTools = "WaitingForTools"
	// ReasonRestartRequired means that changes wait for a power cycle.
	ReasonRestartRequired = "RestartRequired"
	// ReasonUnknownState means that vSphere could not be read.
	ReasonUnknownState = "UnknownState"
	// ReasonUnsupported means that this version does not do what is asked for.
	ReasonUnsupported = "Unsupported"
	// ReasonConflict means that spec and instance type set the same field, or that another VM
	// has a value that must be unique.
	ReasonConflict = "Conflict"
	// ReasonRequirementsNotMet means that the size is below what the preference requires.
	ReasonRequirementsNotMet = "RequirementsNotMet"
	// ReasonWaitingForMachine means that no Machine owns the VM yet, which its labels or owners
	// say that it is made for.
	ReasonWaitingForMachine = "WaitingForMachine"
	// ReasonWaitingForClusterInfrastructure means that the Cluster of the Machine does not say
	// yet that its infrastructure is provisioned.
	ReasonWaitingForClusterInfrastructure = "WaitingForClusterInfrastructureReady"
	// ReasonWaitingForBootstrapData means that the Machine names no Secret with bootstrap data
	// yet.
	ReasonWaitingForBootstrapData = "WaitingForBootstrapData"
	// ReasonWaitingForEndpoint means that it is not known where the API of a cluster is to be.
	ReasonWaitingForEndpoint = "WaitingForControlPlaneEndpoint"
	// ReasonPaused means that reconciling is paused.
	ReasonPaused = "Paused"
	// ReasonDeleting means that the VM is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonPoweredOff means that the VM is powered off, as desired.
	ReasonPoweredOff = "PoweredOff"
	// ReasonRecordNewer means that the object is older than the record of it that the
	// vSphere VM keeps, as in a store that was restored.
	ReasonRecordNewer = "RecordNewer"
	// ReasonTooLarge means that something does not fit where it is to be kept.
	ReasonTooLarge = "TooLarge"
	// ReasonSuspended means that something waits until the VM is not suspended any more.
	ReasonSuspended = "Suspended"
	// ReasonQuestionPending means that vSphere waits for an answer.
	ReasonQuestionPending = "QuestionPending"
	// ReasonUnreachable means that nothing answers, or not as a vCenter does.
	ReasonUnreachable = "Unreachable"
	// ReasonUntrusted means that a certificate is not one that is trusted.
	ReasonUntrusted = "Untrusted"
	// ReasonLoginRefused means that the credentials were refused, or are missing.
	ReasonLoginRefused = "LoginRefused"
	// ReasonOtherInstallation means that another vCenter answers than the one before.
	ReasonOtherInstallation = "OtherInstallation"
	// ReasonInUse means that something needs what is to be deleted.
	ReasonInUse = "InUse"
	// ReasonNotRemoved means that something is to go, and could not be removed yet.
	ReasonNotRemoved = "NotRemoved"
	// ReasonNonCompliant means that something is not as its storage policy wants it.
	ReasonNonCompliant = "NonCompliant"
	// ReasonConsolidationNeeded means that disks are to be consolidated.
	ReasonConsolidationNeeded = "ConsolidationNeeded"
)

// CreatePrerequisites are the types of the conditions that a create waits for, in the
// order in which they are worth telling.
var CreatePrerequisites = []string{
	ConditionInstancetypeReady, ConditionPreferenceReady, ConditionClassReady,
	ConditionImageReady, ConditionMachineReady, ConditionBootstrapReady, ConditionStorageReady, ConditionVolumesReady,
	ConditionNetworkReady, ConditionAddressesReady, ConditionPlacementReady, ConditionImageCacheReady,
}
