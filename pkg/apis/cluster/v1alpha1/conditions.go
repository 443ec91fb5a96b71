// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Condition types of more than one kind.
const (
	// AvailableCondition is True when an object is available.
	AvailableCondition = "Available"
	// ReadyCondition summarizes the conditions of an object.
	ReadyCondition = "Ready"
	// PausedCondition is True when reconciling of an object is paused.
	PausedCondition = "Paused"
	// DeletingCondition reports the progress of a deletion.
	DeletingCondition = "Deleting"
	// InfrastructureReadyCondition mirrors the Ready condition of the infrastructure object.
	InfrastructureReadyCondition = "InfrastructureReady"
	// ScalingUpCondition is True when there are fewer machines than desired.
	ScalingUpCondition = "ScalingUp"
	// ScalingDownCondition is True when there are more machines than desired.
	ScalingDownCondition = "ScalingDown"
	// MachinesReadyCondition summarizes the Ready conditions of the machines.
	MachinesReadyCondition = "MachinesReady"
	// MachinesUpToDateCondition summarizes the UpToDate conditions of the machines.
	MachinesUpToDateCondition = "MachinesUpToDate"
	// RollingOutCondition is True when machines were created from an older template.
	RollingOutCondition = "RollingOut"
	// RemediatingCondition is True while unhealthy machines are being replaced.
	RemediatingCondition = "Remediating"
	// ReconcilingCondition is True while a controller is still changing the resources that the object describes. It is
	// absent otherwise. Flux, kpt and other clients that follow the kstatus convention wait while it is True.
	ReconcilingCondition = "Reconciling"
	// StalledCondition is True when the object cannot match its spec until a user changes something. It is absent
	// otherwise. Clients that follow the kstatus convention report a failure while it is True.
	StalledCondition = "Stalled"
)

// Condition types of a Machine.
const (
	// MachineBootstrapConfigReadyCondition mirrors the Ready condition of the bootstrap object.
	MachineBootstrapConfigReadyCondition = "BootstrapConfigReady"
	// MachineNodeReadyCondition mirrors the Ready condition of the Node.
	MachineNodeReadyCondition = "NodeReady"
	// MachineNodeHealthyCondition summarizes the conditions of the Node.
	MachineNodeHealthyCondition = "NodeHealthy"
	// MachineUpToDateCondition is True when a machine of a MachineDeployment matches the template.
	MachineUpToDateCondition = "UpToDate"
	// MachineUpdatingCondition is True while the machine is being updated in place.
	MachineUpdatingCondition = "Updating"
	// MachineHealthCheckSucceededCondition is the result of a MachineHealthCheck.
	MachineHealthCheckSucceededCondition = "HealthCheckSucceeded"
	// MachineOwnerRemediatedCondition is False when the owner must replace the machine.
	MachineOwnerRemediatedCondition = "OwnerRemediated"
	// MachineExternallyRemediatedCondition is False when an external controller must replace the machine.
	MachineExternallyRemediatedCondition = "ExternallyRemediated"
)

// Condition types of a Cluster and of a MachineHealthCheck.
const (
	// ClusterControlPlaneInitializedCondition is True after the API server of the cluster responded for the first time.
	ClusterControlPlaneInitializedCondition = "ControlPlaneInitialized"
	// ClusterRemoteConnectionProbeCondition is True when the API server of the cluster responds.
	ClusterRemoteConnectionProbeCondition = "RemoteConnectionProbe"
	// MachineHealthCheckRemediationAllowedCondition is False when too many machines are unhealthy.
	MachineHealthCheckRemediationAllowedCondition = "RemediationAllowed"
)

// Condition reasons.
const (
	// AvailableReason means that the object is available.
	AvailableReason = "Available"
	// NotAvailableReason means that the object is not available.
	NotAvailableReason = "NotAvailable"
	// WaitingForMinReadySecondsReason means that the object has not been Ready for minReadySeconds yet.
	WaitingForMinReadySecondsReason = "WaitingForMinReadySeconds"
	// ReadyReason means that the object is ready.
	ReadyReason = "Ready"
	// NotReadyReason means that the object is not ready.
	NotReadyReason = "NotReady"
	// ReadyUnknownReason means that it is unknown whether the object is ready.
	ReadyUnknownReason = "ReadyUnknown"
	// UpToDateReason means that the machine matches the template.
	UpToDateReason = "UpToDate"
	// NotUpToDateReason means that the machine does not match the template.
	NotUpToDateReason = "NotUpToDate"
	// UpToDateUnknownReason means that it is unknown whether the machine matches the template.
	UpToDateUnknownReason = "UpToDateUnknown"
	// UpdatingReason means that the object is being updated.
	UpdatingReason = "Updating"
	// NotUpdatingReason means that the machine is not being updated in place.
	NotUpdatingReason = "NotUpdating"
	// InPlaceUpdatingReason means that the machine is being updated in place.
	InPlaceUpdatingReason = "InPlaceUpdating"
	// NoReplicasReason means that there are no machines.
	NoReplicasReason = "NoReplicas"
	// InternalErrorReason means that the status could not be determined.
	InternalErrorReason = "InternalError"
	// WaitingForClusterReason means that the Cluster of the object does not exist yet.
	WaitingForClusterReason = "WaitingForCluster"
	// WaitingForTemplateReason means that a template that the object refers to does not exist yet.
	WaitingForTemplateReason = "WaitingForTemplate"
	// InvalidConditionReportedReason means that the referenced object has a Ready condition with an invalid format.
	InvalidConditionReportedReason = "InvalidConditionReported"
	// ObjectControlledByAnotherReason means that another object controls the referenced object.
	ObjectControlledByAnotherReason = "ObjectControlledByAnother"
	// ObjectDoesNotExistReason means that the referenced object does not exist.
	ObjectDoesNotExistReason = "ObjectDoesNotExist"
	// ObjectDeletedReason means that the referenced object existed but was deleted.
	ObjectDeletedReason = "ObjectDeleted"
	// DataSecretProvidedReason means that the user provides the bootstrap data Secret.
	DataSecretProvidedReason = "DataSecretProvided"
	// NotPausedReason means that reconciling is not paused.
	NotPausedReason = "NotPaused"
	// PausedReason means that reconciling is paused.
	PausedReason = "Paused"
	// ConnectionDownReason means that the API server of the cluster cannot be reached.
	ConnectionDownReason = "ConnectionDown"
	// InspectionFailedReason means that the object could not be read yet.
	InspectionFailedReason = "InspectionFailed"
	// NodeReadyReason means that the Node is Ready.
	NodeReadyReason = "NodeReady"
	// NodeNotReadyReason means that the Node is not Ready.
	NodeNotReadyReason = "NodeNotReady"
	// NodeReadyUnknownReason means that the Node does not report whether it is Ready.
	NodeReadyUnknownReason = "NodeReadyUnknown"
	// NodeHealthyReason means that all conditions of the Node are good.
	NodeHealthyReason = "NodeHealthy"
	// NodeNotHealthyReason means that a condition of the Node is bad.
	NodeNotHealthyReason = "NodeNotHealthy"
	// NodeHealthyUnknownReason means that the status of a Node condition is unknown.
	NodeHealthyUnknownReason = "NodeHealthyUnknown"
	// NodeAmbiguousReason means that several Nodes have the provider ID of the machine.
	NodeAmbiguousReason = "NodeAmbiguous"
	// NodeDoesNotExistReason means that the machine has no Node yet.
	NodeDoesNotExistReason = "NodeDoesNotExist"
	// NodeDeletedReason means that the machine's Node was deleted.
	NodeDeletedReason = "NodeDeleted"
	// NotDeletingReason means that the object is not being deleted.
	NotDeletingReason = "NotDeleting"
	// DeletingReason means that the object is being deleted.
	DeletingReason = "Deleting"
	// WaitingForPreDrainHookReason means that the deletion waits for the removal of pre-drain hooks.
	WaitingForPreDrainHookReason = "WaitingForPreDrainHook"
	// DrainingNodeReason means that the Node is being drained.
	DrainingNodeReason = "DrainingNode"
	// WaitingForVolumeDetachReason means that the deletion waits for the detachment of volumes.
	WaitingForVolumeDetachReason = "WaitingForVolumeDetach"
	// WaitingForPreTerminateHookReason means that the deletion waits for the removal of pre-terminate hooks.
	WaitingForPreTerminateHookReason = "WaitingForPreTerminateHook"
	// WaitingForInfrastructureDeletionReason means that the deletion waits for the deletion of the infrastructure.
	WaitingForInfrastructureDeletionReason = "WaitingForInfrastructureDeletion"
	// WaitingForBootstrapDeletionReason means that the deletion waits for the deletion of the bootstrap object.
	WaitingForBootstrapDeletionReason = "WaitingForBootstrapDeletion"
	// WaitingForWorkersDeletionReason means that the deletion waits for the deletion of worker machines.
	WaitingForWorkersDeletionReason = "WaitingForWorkersDeletion"
	// WaitingForControlPlaneDeletionReason means that the deletion waits for the deletion of the control plane.
	WaitingForControlPlaneDeletionReason = "WaitingForControlPlaneDeletion"
	// DeletingNodeReason means that the Node is being deleted.
	DeletingNodeReason = "DeletingNode"
	// DeletionCompletedReason means that all dependent objects are deleted.
	DeletionCompletedReason = "DeletionCompleted"
	// InitializedReason means that the API server of the cluster has responded at least once.
	InitializedReason = "Initialized"
	// NotInitializedReason means that the API server of the cluster has never responded.
	NotInitializedReason = "NotInitialized"
	// ProbeSucceededReason means that the API server of the cluster responds.
	ProbeSucceededReason = "ProbeSucceeded"
	// ProbeFailedReason means that the API server of the cluster does not respond.
	ProbeFailedReason = "ProbeFailed"
	// RollingOutReason means that machines are being replaced because the template changed.
	RollingOutReason = "RollingOut"
	// NotRollingOutReason means that no rollout is in progress.
	NotRollingOutReason = "NotRollingOut"
	// ScalingUpReason means that machines are being created.
	ScalingUpReason = "ScalingUp"
	// ScalingUpBlockedReason means that machines need to be created but cannot be created.
	ScalingUpBlockedReason = "ScalingUpBlocked"
	// NotScalingUpReason means that no machines need to be created.
	NotScalingUpReason = "NotScalingUp"
	// ScalingDownReason means that machines are being deleted.
	ScalingDownReason = "ScalingDown"
	// NotScalingDownReason means that no machines need to be deleted.
	NotScalingDownReason = "NotScalingDown"
	// RemediatingReason means that unhealthy machines are being replaced.
	RemediatingReason = "Remediating"
	// NotRemediatingReason means that no machines are being replaced because of their health.
	NotRemediatingReason = "NotRemediating"
	// HealthCheckSucceededReason means that the machine is healthy.
	HealthCheckSucceededReason = "HealthCheckSucceeded"
	// UnhealthyNodeReason means that a Node condition has been unhealthy for longer than its timeout.
	UnhealthyNodeReason = "UnhealthyNode"
	// UnhealthyMachineReason means that a Machine condition has been unhealthy for longer than its timeout.
	UnhealthyMachineReason = "UnhealthyMachine"
	// NodeStartupTimeoutReason means that the machine had no Node before the startup timeout.
	NodeStartupTimeoutReason = "NodeStartupTimeout"
	// HasRemediateAnnotationReason means that an annotation marks the machine as unhealthy.
	HasRemediateAnnotationReason = "HasRemediateAnnotation"
	// WaitingForRemediationReason means that the machine waits for its replacement.
	WaitingForRemediationReason = "WaitingForRemediation"
	// CannotBeRemediatedReason means that the machine cannot be replaced.
	CannotBeRemediatedReason = "CannotBeRemediated"
	// RemediationDeferredReason means that the machine waits because other machines are being replaced.
	RemediationDeferredReason = "RemediationDeferred"
	// RemediationMachineDeletingReason means that the unhealthy machine is being deleted.
	RemediationMachineDeletingReason = "MachineDeleting"
	// RemediationTemplateNotFoundReason means that the remediation template does not exist.
	RemediationTemplateNotFoundReason = "RemediationTemplateNotFound"
	// RemediationRequestCreationFailedReason means that the remediation request could not be created.
	RemediationRequestCreationFailedReason = "RemediationRequestCreationFailed"
	// RemediationAllowedReason means that the number of unhealthy machines is within the limit.
	RemediationAllowedReason = "RemediationAllowed"
	// TooManyUnhealthyReason means that the number of unhealthy machines exceeds the limit.
	TooManyUnhealthyReason = "TooManyUnhealthy"
)
