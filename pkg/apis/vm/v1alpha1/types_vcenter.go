// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultVCenter is the name of the VCenter that is used by virtual machines that do not specify one. If no object of
// that name exists, the server's flags describe it.
const DefaultVCenter = "default"

// VCenterFinalizer blocks the deletion of a VCenter while it has virtual machines.
const VCenterFinalizer = "vm.slipway.dev/vcenter"

// VCenter is a vCenter Server that runs virtual machines. The server connects, reconnects and disconnects when the
// object changes; no restart is needed. Zones define where virtual machines are placed in it.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VCenter struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec describes how to connect to the vCenter.
	// +required
	Spec VCenterSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
	// +optional
	Status VCenterStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// VCenterList is a list of VCenters.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VCenterList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the VCenters.
	Items []VCenter `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VCenterSpec describes how to connect to a vCenter. At most one of caBundle and thumbprint can be set. If neither is
// set, the certificate authorities of the server's operating system are trusted.
type VCenterSpec struct {
	// url is the URL of the vCenter SDK endpoint, in the form https://host[:port]/sdk.
	// +required
	URL string `json:"url" protobuf:"bytes,1,opt,name=url"`
	// caBundle holds the trusted certificate authorities, in PEM format.
	// +optional
	CABundle []byte `json:"caBundle,omitempty" protobuf:"bytes,2,opt,name=caBundle"`
	// thumbprint is the SHA-256 or SHA-1 thumbprint of the trusted certificate, in hexadecimal, with or without colons.
	// +optional
	Thumbprint string `json:"thumbprint,omitempty" protobuf:"bytes,3,opt,name=thumbprint"`
	// credentialsSecretRef refers to a Secret with the keys username and password. The Secret must be in the namespace
	// that the server flag --vcenter-secrets-namespace sets. The server reads it at every login.
	// +required
	CredentialsSecretRef VCenterSecretReference `json:"credentialsSecretRef" protobuf:"bytes,4,opt,name=credentialsSecretRef"`
}

// VCenterSecretReference refers to a Secret in the namespace that the server uses for credentials.
type VCenterSecretReference struct {
	// name of the Secret.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// VCenterStatus is the observed state of a vCenter.
type VCenterStatus struct {
	// conditions are the conditions of the vCenter: Ready, Connected and Deleting.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,6,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,7,opt,name=observedGeneration"`
	// version is the product version, for example 8.0.3.
	// +optional
	Version string `json:"version,omitempty" protobuf:"bytes,1,opt,name=version"`
	// apiVersion is the version of the vSphere API, for example 8.0.3.0.
	// +optional
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,2,opt,name=apiVersion"`
	// instanceUUID is the instance UUID of the vCenter. The server does not log in to a vCenter with another instance
	// UUID that answers at the same URL.
	// +optional
	InstanceUUID string `json:"instanceUUID,omitempty" protobuf:"bytes,3,opt,name=instanceUUID"`
	// session is the current session.
	// +optional
	Session *VCenterSession `json:"session,omitempty" protobuf:"bytes,4,opt,name=session"`
	// inventory holds statistics of the inventory cache. It is set after the first full read.
	// +optional
	Inventory *VCenterInventory `json:"inventory,omitempty" protobuf:"bytes,5,opt,name=inventory"`
}

// VCenterSession is a session with a vCenter.
type VCenterSession struct {
	// userName is the user that logged in.
	// +required
	UserName string `json:"userName" protobuf:"bytes,1,opt,name=userName"`
	// loginTime is the time of the login.
	// +required
	LoginTime metav1.Time `json:"loginTime" protobuf:"bytes,2,opt,name=loginTime"`
}

// VCenterInventory holds statistics of the server's inventory cache of a vCenter.
type VCenterInventory struct {
	// virtualMachines is the number of vSphere VMs that belong to VirtualMachine objects.
	// +required
	VirtualMachines int32 `json:"virtualMachines" protobuf:"varint,1,opt,name=virtualMachines"`
	// readDuration is the duration of the last full read of the inventory.
	// +required
	ReadDuration metav1.Duration `json:"readDuration" protobuf:"bytes,2,opt,name=readDuration"` //nolint:nodurations // part of the stored format
}
