// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Conditions of more than one kind.
const (
	// AvailableCondition says whether an object can be used.
	AvailableCondition = "Available"
	// ReadyCondition sums an object up.
	ReadyCondition = "Ready"
	// PausedCondition is True while the controllers keep from an object.
	PausedCondition = "Paused"
	// DeletingCondition tells how far a deletion is.
	DeletingCondition = "Deleting"
	// InfrastructureReadyCondition is the Ready of the infrastructure object.
	InfrastructureReadyCondition = "InfrastructureReady"
	// ScalingUpCondition is True while there are fewer machines than wanted.
	ScalingUpCondition = "ScalingUp"
	// ScalingDownCondition is True while there are more machines than wanted.
	ScalingDownCondition = "ScalingDown"
	// MachinesReadyCondition sums up the Ready of machines.
	MachinesReadyCondition = "MachinesReady"
	// MachinesUpToDateCondition sums up the UpToDate of machines.
	MachinesUpToDateCondition = "MachinesUpToDate"
	// RollingOutCondition is True while machines have an older template.
	RollingOutCondition = "RollingOut"
	// RemediatingCondition is True while machines that are not well are replaced.
	RemediatingCondition = "Remediating"
	// ReconcilingCondition is True while a controller still changes what the object describes, and absent otherwise. Flux,
	// kpt and other clients of the kstatus convention wait while it is True.
	ReconcilingCondition = "Reconciling"
	// StalledCondition is True while the object cannot become what its spec describes before a user changes something, and
	// absent otherwise. Clients of the kstatus convention report a failure while it is True.
	StalledCondition = "Stalled"
)

// Conditions of a Machine.
const (
	// MachineBootstrapConfigReadyCondition is the Ready of the bootstrap object.
	MachineBootstrapConfigReadyCondition = "BootstrapConfigReady"
	// MachineNodeReadyCondition is the Ready of the Node.
	MachineNodeReadyCondition = "NodeReady"
	// MachineNodeHealthyCondition sums up the conditions of the Node.
	MachineNodeHealthyCondition = "NodeHealthy"
	// MachineUpToDateCondition says whether a machine of a MachineDeployment is as its template says.
	MachineUpToDateCondition = "UpToDate"
	// MachineUpdatingCondition is True while the machine is updated in place.
	MachineUpdatingCondition = "Updating"
	// MachineHealthCheckSucceededCondition is what a MachineHealthCheck found.
	MachineHealthCheckSucceededCondition = "HealthCheckSucceeded"
	// MachineOwnerRemediatedCondition is False while the owner shall replace the machine.
	MachineOwnerRemediatedCondition = "OwnerRemediated"
	// MachineExternallyRemediatedCondition is False while somebody else shall do so.
	MachineExternallyRemediatedCondition = "ExternallyRemediated"
)

// Conditions of a Cluster and of a MachineHealthCheck.
const (
	// ClusterControlPlaneInitializedCondition is True once the API of the cluster answered.
	ClusterControlPlaneInitializedCondition = "ControlPlaneInitialized"
	// ClusterRemoteConnectionProbeCondition says whether the API of the cluster answers.
	ClusterRemoteConnectionProbeCondition = "RemoteConnectionProbe"
	// MachineHealthCheckRemediationAllowedCondition is False while too many machines are not well.
	MachineHealthCheckRemediationAllowedCondition = "RemediationAllowed"
)

// Reasons of conditions.
const (
	// AvailableReason is what can be used.
	AvailableReason = "Available"
	// NotAvailableReason is what cannot.
	NotAvailableReason = "NotAvailable"
	// WaitingForMinReadySecondsReason has not been Ready for long enough.
	WaitingForMinReadySecondsReason = "WaitingForMinReadySeconds"
	// ReadyReason is well.
	ReadyReason = "Ready"
	// NotReadyReason is not.
	NotReadyReason = "NotReady"
	// ReadyUnknownReason is not known.
	ReadyUnknownReason = "ReadyUnknown"
	// UpToDateReason is as the template says.
	UpToDateReason = "UpToDate"
	// NotUpToDateReason is not.
	NotUpToDateReason = "NotUpToDate"
	// UpToDateUnknownReason is not known.
	UpToDateUnknownReason = "UpToDateUnknown"
	// UpdatingReason is being changed.
	UpdatingReason = "Updating"
	// NotUpdatingReason is not updated in place.
	NotUpdatingReason = "NotUpdating"
	// InPlaceUpdatingReason is updated in place.
	InPlaceUpdatingReason = "InPlaceUpdating"
	// NoReplicasReason has no machines.
	NoReplicasReason = "NoReplicas"
	// InternalErrorReason could not be found out.
	InternalErrorReason = "InternalError"
	// WaitingForClusterReason is used while the Cluster that an object names does not exist.
	WaitingForClusterReason = "WaitingForCluster"
	// WaitingForTemplateReason is used while a template that an object names does not exist.
	WaitingForTemplateReason = "WaitingForTemplate"
	// InvalidConditionReportedReason was told in a form that is none.
	InvalidConditionReportedReason = "InvalidConditionReported"
	// ObjectControlledByAnotherReason is used when another object controls what the object refers to.
	ObjectControlledByAnotherReason = "ObjectControlledByAnother"
	// ObjectDoesNotExistReason names what is not there.
	ObjectDoesNotExistReason = "ObjectDoesNotExist"
	// ObjectDeletedReason names what was there.
	ObjectDeletedReason = "ObjectDeleted"
	// DataSecretProvidedReason has data that the user made.
	DataSecretProvidedReason = "DataSecretProvided"
	// NotPausedReason is looked after.
	NotPausedReason = "NotPaused"
	// PausedReason is kept from.
	PausedReason = "Paused"
	// ConnectionDownReason waits for the API of the cluster.
	ConnectionDownReason = "ConnectionDown"
	// InspectionFailedReason cannot be looked at yet.
	InspectionFailedReason = "InspectionFailed"
	// NodeReadyReason is a Node that is Ready.
	NodeReadyReason = "NodeReady"
	// NodeNotReadyReason is one that is not.
	NodeNotReadyReason = "NodeNotReady"
	// NodeReadyUnknownReason is one that does not tell.
	NodeReadyUnknownReason = "NodeReadyUnknown"
	// NodeHealthyReason is a Node without a bad condition.
	NodeHealthyReason = "NodeHealthy"
	// NodeNotHealthyReason is one with a bad condition.
	NodeNotHealthyReason = "NodeNotHealthy"
	// NodeHealthyUnknownReason is one that does not tell all.
	NodeHealthyUnknownReason = "NodeHealthyUnknown"
	// NodeAmbiguousReason is used when several Nodes have the provider ID of the machine, and it is not known which
	// one is its Node.
	NodeAmbiguousReason = "NodeAmbiguous"
	// NodeDoesNotExistReason never had a Node.
	NodeDoesNotExistReason = "NodeDoesNotExist"
	// NodeDeletedReason had one.
	NodeDeletedReason = "NodeDeleted"
	// NotDeletingReason is not being deleted.
	NotDeletingReason = "NotDeleting"
	// DeletingReason is being deleted.
	DeletingReason = "Deleting"
	// WaitingForPreDrainHookReason waits until hooks are removed.
	WaitingForPreDrainHookReason = "WaitingForPreDrainHook"
	// DrainingNodeReason drains the Node.
	DrainingNodeReason = "DrainingNode"
	// WaitingForVolumeDetachReason waits until volumes are detached.
	WaitingForVolumeDetachReason = "WaitingForVolumeDetach"
	// WaitingForPreTerminateHookReason waits until hooks are removed.
	WaitingForPreTerminateHookReason = "WaitingForPreTerminateHook"
	// WaitingForInfrastructureDeletionReason waits for the infrastructure.
	WaitingForInfrastructureDeletionReason = "WaitingForInfrastructureDeletion"
	// WaitingForBootstrapDeletionReason waits for the bootstrap object.
	WaitingForBootstrapDeletionReason = "WaitingForBootstrapDeletion"
	// WaitingForWorkersDeletionReason waits for machines.
	WaitingForWorkersDeletionReason = "WaitingForWorkersDeletion"
	// WaitingForControlPlaneDeletionReason waits for the control plane.
	WaitingForControlPlaneDeletionReason = "WaitingForControlPlaneDeletion"
	// DeletingNodeReason deletes the Node.
	DeletingNodeReason = "DeletingNode"
	// DeletionCompletedReason has nothing left to delete.
	DeletionCompletedReason = "DeletionCompleted"
	// InitializedReason answered once.
	InitializedReason = "Initialized"
	// NotInitializedReason never answered.
	NotInitializedReason = "NotInitialized"
	// ProbeSucceededReason answers.
	ProbeSucceededReason = "ProbeSucceeded"
	// ProbeFailedReason does not answer.
	ProbeFailedReason = "ProbeFailed"
	// RollingOutReason replaces machines.
	RollingOutReason = "RollingOut"
	// NotRollingOutReason does not.
	NotRollingOutReason = "NotRollingOut"
	// ScalingUpReason makes machines.
	ScalingUpReason = "ScalingUp"
	// ScalingUpBlockedReason cannot make machines.
	ScalingUpBlockedReason = "ScalingUpBlocked"
	// NotScalingUpReason makes none.
	NotScalingUpReason = "NotScalingUp"
	// ScalingDownReason deletes machines.
	ScalingDownReason = "ScalingDown"
	// NotScalingDownReason deletes none.
	NotScalingDownReason = "NotScalingDown"
	// RemediatingReason replaces machines that are not well.
	RemediatingReason = "Remediating"
	// NotRemediatingReason does not.
	NotRemediatingReason = "NotRemediating"
	// HealthCheckSucceededReason is well.
	HealthCheckSucceededReason = "HealthCheckSucceeded"
	// UnhealthyNodeReason has a Node with a bad condition for too long.
	UnhealthyNodeReason = "UnhealthyNode"
	// UnhealthyMachineReason has a bad condition for too long.
	UnhealthyMachineReason = "UnhealthyMachine"
	// NodeStartupTimeoutReason has no Node for too long.
	NodeStartupTimeoutReason = "NodeStartupTimeout"
	// HasRemediateAnnotationReason was said to be not well.
	HasRemediateAnnotationReason = "HasRemediateAnnotation"
	// WaitingForRemediationReason waits to be replaced.
	WaitingForRemediationReason = "WaitingForRemediation"
	// CannotBeRemediatedReason cannot be replaced.
	CannotBeRemediatedReason = "CannotBeRemediated"
	// RemediationDeferredReason waits for others to be replaced.
	RemediationDeferredReason = "RemediationDeferred"
	// RemediationMachineDeletingReason is being replaced.
	RemediationMachineDeletingReason = "MachineDeleting"
	// RemediationTemplateNotFoundReason names a template that is not there.
	RemediationTemplateNotFoundReason = "RemediationTemplateNotFound"
	// RemediationRequestCreationFailedReason could not ask for it.
	RemediationRequestCreationFailedReason = "RemediationRequestCreationFailed"
	// RemediationAllowedReason has few enough that are not well.
	RemediationAllowedReason = "RemediationAllowed"
	// TooManyUnhealthyReason has too many.
	TooManyUnhealthyReason = "TooManyUnhealthy"
)
