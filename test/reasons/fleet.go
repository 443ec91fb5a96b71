// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

var inUse = Condition{Type: "Deleting", Means: "The object is being deleted and cannot be removed yet.", Absent: "The object is not being deleted.",
	Reasons: []Reason{{isTrue, "InUse", "Other objects need it; the message names them.", "Delete or move them first."}}}

// notConnected are the reasons of a vCenter that cannot be used.
var notConnected = []Reason{
	{isFalse, "Unreachable", "Nothing answers at `spec.url`, or not as a vCenter does.", "Check the URL, the network and vCenter."},
	{isFalse, "Untrusted", "The certificate of vCenter is not trusted.", "Correct `spec.caBundle` or `spec.thumbprint`."},
	{isFalse, "LoginRefused", "vCenter refused the credentials, or the Secret lacks them.", "Correct the Secret that `spec.credentialsSecretRef` names."},
	{isFalse, "OtherInstallation", "Another vCenter answers than before.", "Correct `spec.url`, or create another VCenter object for it."},
	{isFalse, "Invalid", "The description of the vCenter cannot be used.", fixSpec},
}

var fleetKinds = []Kind{
	{Names: []string{"VCenter"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Ready", Normal: isTrue, Means: "The vCenter is connected and its inventory is read.",
			Reasons: append([]Reason{
				met("The vCenter is in use."),
				{isFalse, "NotReady", "The inventory is being read, or the stream of changes is interrupted.", nothing},
			}, notConnected...)},
		{Type: "Connected", Normal: isTrue, Means: "The vCenter answers and accepts the credentials.",
			Reasons: append([]Reason{
				met("The vCenter is connected."),
				{isTrue, "ClockSkew", "The clocks of vCenter and of the server differ.", "Synchronize the clocks."},
			}, notConnected...)},
		inUse,
	}},
	{Names: []string{"Zone"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Ready", Normal: isTrue, Means: "VMs can be created in the zone.",
			Reasons: []Reason{
				met("VMs can be created."),
				{isFalse, "NotFound", "An object that the spec names does not exist in vSphere, or there is no such VCenter.", fixVSphere},
				{isFalse, "Invalid", "An object that the spec names cannot be used, or its name is ambiguous.", fixVSphere},
				{isFalse, "Unreachable", "The VCenter of the zone is not connected.", connect},
				{isFalse, "NotReady", "vCenter could not be queried, or no host can run VMs.", connect},
			}},
		inUse,
	}},
	{Names: []string{"SlipwayCluster"}, Group: vmv1alpha1.SchemeGroupVersion, Conditions: []Condition{
		{Type: "Ready", Normal: isTrue, Means: "The infrastructure is provisioned, and all zones that it names can be used.",
			Reasons: []Reason{
				met("The infrastructure is provisioned."),
				{isFalse, "WaitingForControlPlaneEndpoint", "The address of the cluster's API is not known.", "Set host and port of `spec.controlPlaneEndpoint`, here or in the Cluster."},
				{isFalse, "NotFound", "A Zone that `spec.zones` names does not exist.", "Create the Zone, or correct the name."},
				{isFalse, "NotAllowed", "A Zone that `spec.zones` names does not select the namespace.", "Use another Zone, or ask the administrator."},
				{isFalse, "Invalid", "The selector of a Zone is wrong.", "Correct `spec.namespaceSelector` of the Zone."},
				{isFalse, "NoZone", "The VMs of the namespace cannot use any Zone.", "Create a Zone, or change its `spec.namespaceSelector`."},
				{isUnknown, "UnknownState", "The zones, the Cluster or the labels of the namespace are not read yet.", nothing + " It is tried again."},
			}},
		{Type: "Paused", Means: "Nothing is done for the object.", Absent: "The object is not paused.",
			Reasons: []Reason{{isTrue, "Paused", "The Cluster or an annotation pauses the object.", "Unpause the Cluster, or remove the annotation."}}},
	}},
}
