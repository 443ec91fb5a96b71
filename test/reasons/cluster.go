// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"

const (
	internal    = "An error of the server or of an API that it uses; it is retried with growing delays."
	seeMachines = "See the conditions of the Machines that the message names."
)

// paused is the condition Paused of a kind of Cluster API.
func paused() Condition {
	return Condition{Type: "Paused", Normal: isFalse, Means: "The controllers leave the object alone while it is True.",
		Reasons: []Reason{
			{isFalse, "NotPaused", "The object is not paused.", nothing},
			{isTrue, "Paused", "`spec.paused` of the Cluster, or an annotation, pauses the object; the message names it.", "Unset it."},
		}}
}

func deleting(reasons ...Reason) Condition {
	return Condition{Type: "Deleting", Normal: isFalse, Means: "The stage of a deletion.",
		Reasons: append([]Reason{
			{isFalse, "NotDeleting", "The object is not being deleted.", nothing},
			{isTrue, "Paused", "The object is being deleted and is paused: nothing is done for it.", "Unpause the Cluster, or remove the annotation."},
		}, reasons...)}
}

// mirrored are the reasons of a condition that copies Ready of another object.
func mirrored(of string) []Reason {
	return []Reason{
		{isTrue, "Ready", "The " + of + " object is Ready, or has no condition Ready and was provisioned according to `status.initialization`.", nothing},
		{isFalse, "NotReady", "The " + of + " object is not provisioned yet according to `status.initialization`, or gives no reason why it is not Ready.", "See the " + of + " object."},
		{isFalse, "ObjectDoesNotExist", "The " + of + " object does not exist.", "Create it, or correct the reference."},
		{isFalse, "ObjectDeleted", "The " + of + " object was deleted.", "Delete the owner too; a MachineSet creates another one."},
		{isFalse, "ObjectControlledByAnother", "The " + of + " object has another controller.", "Name another object, or remove the other owner reference."},
		{isFalse, "TooManyWrites", "The " + of + " object was changed back many times.", "Find the client that changes it back, and stop it."},
		{isUnknown, "InternalError", "The " + of + " object could not be read.", internal},
		{isUnknown, "InvalidConditionReported", "The condition Ready of the " + of + " object is malformed.", "Report it to the provider of the kind."},
	}
}

var scaling = []Condition{
	{Type: "ScalingUp", Normal: isFalse, Means: "There are fewer Machines than desired while it is True.",
		Reasons: []Reason{
			{isFalse, "NotScalingUp", "There are enough Machines. The message has the last error, if there is one.", nothing},
			{isTrue, "ScalingUp", "Machines are being created.", nothing},
			{isTrue, "ScalingUpBlocked", "A Machine cannot be created; the message has the cause.", "Repair the cause."},
			{isTrue, "WaitingForCluster", "No Machine is created, because the Cluster does not exist.", "Create the Cluster, or correct `spec.clusterName`."},
			{isTrue, "WaitingForTemplate", "No Machine is created, because a template does not exist.", "Create the template, or correct the reference that the message names."},
		}},
	{Type: "ScalingDown", Normal: isFalse, Means: "There are more Machines than desired while it is True.",
		Reasons: []Reason{
			{isFalse, "NotScalingDown", "There are not too many Machines.", nothing},
			{isTrue, "ScalingDown", "Machines are being deleted; the message names the blocking object.", "Nothing, unless the message reports a cause to repair."},
		}},
	{Type: "MachinesReady", Normal: isTrue, Means: "All Machines are Ready.",
		Reasons: []Reason{
			{isTrue, "Ready", "All Machines are Ready.", nothing},
			{isTrue, "NoReplicas", "There are no Machines.", nothing},
			{isFalse, "NotReady", "Machines are not Ready.", seeMachines},
			{isUnknown, "ReadyUnknown", "It is not known whether some Machines are Ready.", seeMachines},
		}},
	{Type: "MachinesUpToDate", Normal: isTrue, Means: "All Machines match their template.",
		Reasons: []Reason{
			{isTrue, "UpToDate", "All Machines are up to date.", nothing},
			{isTrue, "NoReplicas", "No Machine belongs to a MachineDeployment.", nothing},
			{isFalse, "NotUpToDate", "Machines have an older template or version.", "Nothing, unless the rollout is paused or its strategy is OnDelete."},
			{isUnknown, "UpToDateUnknown", "It is not known whether some Machines are up to date.", seeMachines},
		}},
	{Type: "Remediating", Normal: isFalse, Means: "Unhealthy Machines are being replaced while it is True.",
		Reasons: []Reason{
			{isFalse, "NotRemediating", "No Machine is being replaced; the message names unhealthy ones that the set does not replace.", nothing},
			{isTrue, "Remediating", "Unhealthy Machines are being replaced; the message names them.", nothing},
		}},
	deleting(Reason{isTrue, "Deleting", "Machines are being deleted; the message counts them.", "If it stays, see the condition Deleting of the Machines."}),
	paused(),
}

// nodeWaits are the reasons of a Node that could not be inspected.
var nodeWaits = []Reason{
	{isUnknown, "NodeAmbiguous", "Several Nodes have the provider ID of the Machine; the message names them.", "Delete the Nodes that are not the Machine's."},
	{isFalse, "NodeDeleted", "The Node of the Machine was deleted.", "Delete the Machine; a MachineSet creates another one."},
	{isUnknown, "NodeDoesNotExist", "The Machine is being deleted and has no Node.", nothing},
	{isUnknown, "InspectionFailed", "There is no Node yet; the message reports what it waits for.", "If it stays, see the conditions of the Cluster, and the log of the kubelet."},
	{isUnknown, "ConnectionDown", "The API of the workload cluster does not answer.", "See the condition RemoteConnectionProbe of the Cluster."},
	{isUnknown, "InternalError", "The Node could not be read.", internal},
}

var clusterKinds = []Kind{
	{Names: []string{"Cluster"}, Group: clusterv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Available", Normal: isTrue, Means: "The infrastructure is ready, and the API of the cluster was initialized and answers.",
			Reasons: []Reason{
				{isTrue, "Available", "The cluster can be used.", nothing},
				{isFalse, "NotAvailable", "Other conditions are not True, or the Cluster is being deleted; the message lists them.", "See the conditions that the message names."},
			}},
		{Type: "Reconciling", Means: "The Cluster is not available.", Absent: "The Cluster is available or is being deleted.",
			Copies: []Copy{{Of: "Cluster Available", From: isFalse, To: isTrue}}},
		{Type: "InfrastructureReady", Normal: isTrue, Means: "Copies the condition Ready of the infrastructure object.",
			Reasons: mirrored("infrastructure"), Other: "The reason comes from the condition Ready of the infrastructure object."},
		{Type: "ControlPlaneInitialized", Normal: isTrue, Means: "The API of the cluster has answered once, or the control plane object reports it.",
			Reasons: []Reason{
				{isTrue, "Initialized", "The control plane was initialized.", nothing},
				{isFalse, "NotInitialized", "The control plane is not initialized, or its object does not exist.", "See the control plane object, or the first Machine of the control plane."},
				{isFalse, "ObjectControlledByAnother", "The control plane object has another controller.", "Name another object, or remove the other owner reference."},
				{isFalse, "TooManyWrites", "The control plane object was changed back many times.", "Find the client that changes it back, and stop it."},
				{isUnknown, "InternalError", "The control plane object could not be read.", internal},
			}},
		{Type: "RemoteConnectionProbe", Normal: isTrue, Means: "The API of the cluster answers.",
			Reasons: []Reason{
				{isTrue, "ProbeSucceeded", "The API answers, or has answered within the grace period.", nothing},
				{isFalse, "ProbeFailed", "The API does not answer.", "Check the control plane, its address, and the Secret with the kubeconfig."},
			}},
		deleting(
			Reason{isTrue, "WaitingForWorkersDeletion", "Machines and their sets are deleted first; the message counts them.", "If it stays, see the condition Deleting of the Machines."},
			Reason{isTrue, "WaitingForControlPlaneDeletion", "The control plane object is being deleted.", "If it stays, see that object."},
			Reason{isTrue, "WaitingForInfrastructureDeletion", "The infrastructure object is being deleted.", "If it stays, see that object."},
			Reason{isTrue, "DeletionCompleted", "Everything is deleted; other finalizers may hold the object.", "See `metadata.finalizers`."},
			Reason{isTrue, "InternalError", "The deletion failed.", internal}),
		paused(),
	}},
	{Names: []string{"Machine"}, Group: clusterv1alpha1.SchemeGroupVersion,
		Open: "A Machine may have further conditions that other controllers set, for example those that `spec.readinessGates` names.",
		Conditions: []Condition{
			{Type: "Available", Normal: isTrue, Means: "The Machine has been Ready for `spec.minReadySeconds`.",
				Reasons: []Reason{
					{isTrue, "Available", "The Machine is available.", nothing},
					{isFalse, "NotReady", "The Machine is not Ready.", "See the condition Ready."},
					{isFalse, "WaitingForMinReadySeconds", "The Machine is Ready, but not for long enough.", nothing},
				}},
			{Type: "Ready", Normal: isTrue, Means: "Sums up Deleting, Updating, BootstrapConfigReady, InfrastructureReady, NodeHealthy, HealthCheckSucceeded and the readiness gates.",
				Reasons: []Reason{
					{isTrue, "Ready", "The Machine is Ready.", nothing},
					{isFalse, "NotReady", "A condition has the wrong status; the message lists them.", "See the conditions that the message names."},
					{isUnknown, "ReadyUnknown", "The status of a condition is not known; the message lists them.", "See the conditions that the message names."},
					{isUnknown, "WaitingForCluster", "The Cluster does not exist.", "Create the Cluster, or correct `spec.clusterName`."},
				}},
			{Type: "UpToDate", Normal: isTrue, Means: "The Machine matches the template of its MachineDeployment.", Absent: "No MachineDeployment owns the Machine.",
				Reasons: []Reason{
					{isTrue, "UpToDate", "The Machine is up to date.", nothing},
					{isFalse, "NotUpToDate", "The template has changed; the message lists the differences.", "Nothing; the rollout replaces the Machine."},
					{isFalse, "Updating", "The Machine is updated in place, or its kubelet has another version.", nothing},
				}},
			{Type: "BootstrapConfigReady", Normal: isTrue, Means: "Copies the condition Ready of the bootstrap object.",
				Reasons: append([]Reason{{isTrue, "DataSecretProvided", "`spec.bootstrap.dataSecretName` is set by the user.", nothing}}, mirrored("bootstrap")...),
				Other:   "The reason comes from the condition Ready, or from `status.failureReason`, of the bootstrap object."},
			{Type: "InfrastructureReady", Normal: isTrue, Means: "Copies the condition Ready of the infrastructure object. For a VirtualMachine the reasons are those of [its condition Ready](#virtualmachine-ready).",
				Reasons: mirrored("infrastructure"), Other: "The reason comes from the condition Ready, or from `status.failureReason`, of the infrastructure object."},
			{Type: "NodeHealthy", Normal: isTrue, Means: "The Node is Ready and reports no pressure on memory, disks or process IDs.",
				Reasons: append([]Reason{
					{isTrue, "NodeHealthy", "The Node is healthy.", nothing},
					{isFalse, "NodeNotHealthy", "A condition of the Node has the wrong status.", "See the conditions of the Node."},
					{isUnknown, "NodeHealthyUnknown", "A condition of the Node is missing or Unknown.", "See the conditions of the Node."},
				}, nodeWaits...)},
			{Type: "NodeReady", Normal: isTrue, Means: "The Node is Ready.",
				Reasons: append([]Reason{
					{isTrue, "NodeReady", "The Node is Ready.", nothing},
					{isFalse, "NodeNotReady", "The Node is not Ready.", "See the conditions of the Node."},
					{isUnknown, "NodeReadyUnknown", "The Node does not report whether it is Ready.", "Check the kubelet of the Node."},
				}, nodeWaits...)},
			{Type: "HealthCheckSucceeded", Normal: isTrue, Means: "A MachineHealthCheck found the Machine healthy.", Absent: "No MachineHealthCheck has checked the Machine.",
				Reasons: []Reason{
					{isTrue, "HealthCheckSucceeded", "The Machine is healthy.", nothing},
					{isFalse, "UnhealthyMachine", "A condition of the Machine had an unhealthy status for too long.", "See the condition that the message names."},
					{isFalse, "UnhealthyNode", "A condition of the Node had an unhealthy status for too long.", "See the condition of the Node that the message names."},
					{isFalse, "NodeDeleted", "The Node was deleted.", "Nothing, if the owner replaces the Machine; else delete the Machine."},
					{isFalse, "NodeStartupTimeout", "The Machine had no Node in time.", "Check the VM's console and the bootstrap data."},
					{isFalse, "HasRemediateAnnotation", "An annotation marks the Machine for replacement.", nothing},
				}},
			{Type: "OwnerRemediated", Means: "The owner of the unhealthy Machine is requested to replace it.", Absent: "The Machine needs no replacement.",
				Reasons: []Reason{
					{isFalse, "WaitingForRemediation", "The owner has not decided yet.", "If it stays, replace the Machine manually: its owner does not."},
					{isFalse, "MachineDeleting", "The Machine is being deleted, and a MachineSet creates another one.", nothing},
					{isFalse, "RemediationDeferred", "Other Machines are replaced first (`spec.remediation.maxInFlight`).", nothing},
					{isFalse, "CannotBeRemediated", "A rollout removes the Machine.", nothing},
				},
				Other: "The reason comes from the owner, for example a control plane object."},
			{Type: "ExternallyRemediated", Means: "An object that is created from `spec.remediation.templateRef` of the MachineHealthCheck repairs the Machine.", Absent: "The Machine needs no repair.",
				Reasons: []Reason{
					{isFalse, "WaitingForRemediation", "The request exists, and its controller has not finished.", "If it stays, see the request, which has the name of the Machine."},
					{isFalse, "RemediationTemplateNotFound", "The template could not be read.", "Create it, or correct `spec.remediation.templateRef`."},
					{isFalse, "RemediationRequestCreationFailed", "The request could not be created.", "See the message."},
				},
				Other: "The reason comes from the controller of the request."},
			{Type: "Updating", Normal: isFalse, Means: "The Machine is updated in place while it is True.",
				Reasons: []Reason{
					{isFalse, "NotUpdating", "No update in place is running.", nothing},
					{isTrue, "InPlaceUpdating", "Annotations of another controller report a running update.", "If it stays, see the controller that updates the Machine."},
				}},
			paused(),
			deleting(
				Reason{isTrue, "Deleting", "The deletion has begun.", nothing},
				Reason{isTrue, "WaitingForPreDrainHook", "Annotations hold the deletion before the drain; the message lists them.", "Wait for their owners, or remove the annotations."},
				Reason{isTrue, "DrainingNode", "The Node is drained; the message lists the Pods that remain.", "See the Pods and their PodDisruptionBudgets, or set `nodeDrainTimeoutSeconds`."},
				Reason{isTrue, "WaitingForVolumeDetach", "Volumes are still attached to the Node; the message lists them.", "See the VolumeAttachments, or set `nodeVolumeDetachTimeoutSeconds`."},
				Reason{isTrue, "WaitingForPreTerminateHook", "Annotations hold the deletion before the VM is destroyed; the message lists them.", "Wait for their owners, or remove the annotations."},
				Reason{isTrue, "WaitingForInfrastructureDeletion", "The infrastructure object is being deleted.", "If it stays, see that object."},
				Reason{isTrue, "WaitingForBootstrapDeletion", "The bootstrap object is being deleted.", "If it stays, see that object."},
				Reason{isTrue, "DeletingNode", "The Node is being deleted.", "Nothing; it is given up after `nodeDeletionTimeoutSeconds`."},
				Reason{isTrue, "DeletionCompleted", "Everything is deleted; other finalizers may hold the object.", "See `metadata.finalizers`."},
				Reason{isTrue, "InternalError", "A step of the deletion failed.", internal}),
		}},
	{Names: []string{"MachineSet"}, Group: clusterv1alpha1.SchemeGroupVersion, Conditions: append([]Condition{
		{Type: "Reconciling", Means: "A scaling is not finished, or replicas are not available.", Absent: "All replicas are available.",
			Reasons: []Reason{{isTrue, "NotAvailable", "Replicas are not available yet; the message counts them.", seeMachines}},
			Copies:  []Copy{{Of: "MachineSet ScalingUp", From: isTrue}, {Of: "MachineSet ScalingDown", From: isTrue}}},
	}, scaling...)},
	{Names: []string{"MachineDeployment"}, Group: clusterv1alpha1.SchemeGroupVersion, Conditions: append([]Condition{
		{Type: "Available", Normal: isTrue, Means: "At most `maxUnavailable` replicas are not available.",
			Reasons: []Reason{
				{isTrue, "Available", "Enough replicas are available.", nothing},
				{isFalse, "NotAvailable", "Too few replicas are available, or the object is being deleted.", seeMachines},
			}},
		{Type: "Reconciling", Means: "A rollout or a scaling is not finished, or replicas are not available.", Absent: "All replicas are up to date and available.",
			Reasons: []Reason{{isTrue, "NotAvailable", "Replicas are not available yet; the message counts them.", seeMachines}},
			Copies: []Copy{
				{Of: "MachineDeployment RollingOut", From: isTrue}, {Of: "MachineDeployment ScalingUp", From: isTrue}, {Of: "MachineDeployment ScalingDown", From: isTrue},
			}},
		{Type: "RollingOut", Normal: isFalse, Means: "Machines have an older template while it is True.",
			Reasons: []Reason{
				{isFalse, "NotRollingOut", "All Machines have the present template.", nothing},
				{isTrue, "RollingOut", "Machines are being replaced; the message gives the reason.", "If it stays, see MachinesReady and the Machines."},
			},
			Copies: []Copy{{Of: "MachineSet ScalingUp", From: isTrue}}},
	}, scaling...)},
	{Names: []string{"MachineHealthCheck"}, Group: clusterv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "RemediationAllowed", Normal: isTrue, Means: "Unhealthy Machines may be replaced.",
			Reasons: []Reason{
				{isTrue, "RemediationAllowed", "Few enough Machines are unhealthy.", nothing},
				{isFalse, "TooManyUnhealthy", "Too many Machines are unhealthy, so none is replaced.", "Find the common cause, or change the limits of the MachineHealthCheck."},
			}},
		{Type: "Stalled", Means: "Machines are not replaced before a user acts.", Absent: "RemediationAllowed is True.",
			Copies: []Copy{{Of: "MachineHealthCheck RemediationAllowed", From: isFalse, To: isTrue}}},
		paused(),
	}},
}
