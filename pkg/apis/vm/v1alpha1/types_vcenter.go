// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultVCenter is the name of the VCenter of virtual machines that name none, which the
// server's flags describe as long as there is no object of that name.
const DefaultVCenter = "default"

// VCenterFinalizer keeps a VCenter while virtual machines are in it.
const VCenterFinalizer = "vm.slipway.dev/vcenter"

// VCenter is a vCenter Server that virtual machines are in. It is connected to, connected
// to anew and left as the object says, while the server runs. Zones say where in it virtual machines
// go.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VCenter struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says how to reach it.
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

// VCenterSpec says how to reach a vCenter. At most one of caBundle and thumbprint is set;
// without either the certificate authorities of the server's system are trusted.
type VCenterSpec struct {
	// url of the SDK, https://host[:port]/sdk.
	// +required
	URL string `json:"url" protobuf:"bytes,1,opt,name=url"`
	// caBundle holds the certificate authorities to trust, in PEM.
	// +optional
	CABundle []byte `json:"caBundle,omitempty" protobuf:"bytes,2,opt,name=caBundle"`
	// thumbprint is the SHA-256 or SHA-1 of the certificate to trust, in hexadecimal, with
	// or without colons.
	// +optional
	Thumbprint string `json:"thumbprint,omitempty" protobuf:"bytes,3,opt,name=thumbprint"`
	// credentialsSecretRef names a Secret with the keys username and password. It is read at
	// every login, from the one namespace that --vcenter-secrets-namespace names: who may
	// write a VCenter reaches no other Secret by it.
	// +required
	CredentialsSecretRef VCenterSecretReference `json:"credentialsSecretRef" protobuf:"bytes,4,opt,name=credentialsSecretRef"`
}

// VCenterSecretReference names a Secret of the namespace that the server has for them.
type VCenterSecretReference struct {
	// name of the Secret.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
}

// VCenterStatus is what is seen of a vCenter.
type VCenterStatus struct {
	// conditions are the observations in detail: Ready, Connected and Deleting.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,6,rep,name=conditions"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,7,opt,name=observedGeneration"`
	// version of the product, for example 8.0.3.
	// +optional
	Version string `json:"version,omitempty" protobuf:"bytes,1,opt,name=version"`
	// apiVersion is that of its API, for example 8.0.3.0.
	// +optional
	APIVersion string `json:"apiVersion,omitempty" protobuf:"bytes,2,opt,name=apiVersion"`
	// instanceUUID identifies the installation. Another one that answers at the URL is not
	// logged in to: the virtual machines are not in it.
	// +optional
	InstanceUUID string `json:"instanceUUID,omitempty" protobuf:"bytes,3,opt,name=instanceUUID"`
	// session is the present one.
	// +optional
	Session *VCenterSession `json:"session,omitempty" protobuf:"bytes,4,opt,name=session"`
	// inventory is what the server keeps in mind of it, once it was read.
	// +optional
	Inventory *VCenterInventory `json:"inventory,omitempty" protobuf:"bytes,5,opt,name=inventory"`
}

// VCenterSession is a session with a vCenter.
type VCenterSession struct {
	// userName is who logged in.
	// +required
	UserName string `json:"userName" protobuf:"bytes,1,opt,name=userName"`
	// loginTime is when.
	// +required
	LoginTime metav1.Time `json:"loginTime" protobuf:"bytes,2,opt,name=loginTime"`
}

// VCenterInventory is what the server keeps in mind of a vCenter.
type VCenterInventory struct {
	// virtualMachines is the number of VMs that belong to objects.
	// +required
	VirtualMachines int32 `json:"virtualMachines" protobuf:"varint,1,opt,name=virtualMachines"`
	// readDuration is how long it took to read everything, the last time that was needed.
	// +required
	ReadDuration metav1.Duration `json:"readDuration" protobuf:"bytes,2,opt,name=readDuration"` //nolint:nodurations // it is stored
}
