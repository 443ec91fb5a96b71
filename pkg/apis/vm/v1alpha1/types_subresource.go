// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RefreshOptions is the body of refresh-instancetype and refresh-preference.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type RefreshOptions struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; only the name, which must be empty or that of
	// the virtual machine, is looked at.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// dryRun with the value All checks and answers without changing anything.
	// +optional
	// +listType=atomic
	DryRun []string `json:"dryRun,omitempty" protobuf:"bytes,2,rep,name=dryRun"`
}

// RefreshResult is the answer of refresh-instancetype and refresh-preference.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type RefreshResult struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata: name and namespace of the virtual machine.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// sourceName is the name of the instance type or preference.
	// +optional
	SourceName string `json:"sourceName,omitempty" protobuf:"bytes,2,opt,name=sourceName"`
	// sourceKind in canonical form.
	// +optional
	SourceKind string `json:"sourceKind,omitempty" protobuf:"bytes,3,opt,name=sourceKind"`
	// oldRevision is the ControllerRevision in use before the refresh.
	// +optional
	OldRevision string `json:"oldRevision,omitempty" protobuf:"bytes,4,opt,name=oldRevision"`
	// oldGeneration is the generation in use before the refresh.
	// +optional
	OldGeneration int64 `json:"oldGeneration,omitempty" protobuf:"varint,5,opt,name=oldGeneration"`
	// newRevision is the ControllerRevision that will be captured.
	// +optional
	NewRevision string `json:"newRevision,omitempty" protobuf:"bytes,6,opt,name=newRevision"`
	// newGeneration is the generation that will be captured.
	// +optional
	NewGeneration int64 `json:"newGeneration,omitempty" protobuf:"varint,7,opt,name=newGeneration"`
	// changed is false when the virtual machine already uses the newest
	// revision; nothing was written then, except that a pin in spec was removed.
	// +optional
	Changed bool `json:"changed,omitempty" protobuf:"varint,8,opt,name=changed"`
	// specPinCleared is true when the matcher in spec pinned a revision, which
	// the refresh removed. A GitOps source that still holds the pin brings it back.
	// +optional
	SpecPinCleared bool `json:"specPinCleared,omitempty" protobuf:"varint,9,opt,name=specPinCleared"`
	// fields are the differences of the effective spec.
	// +optional
	// +listType=atomic
	Fields []RefreshField `json:"fields,omitempty" protobuf:"bytes,10,rep,name=fields"`
	// dryRun is true when nothing was written because of the options.
	// +optional
	DryRun bool `json:"dryRun,omitempty" protobuf:"varint,11,opt,name=dryRun"`
	// oldSourceName is the instance type or preference in use before the refresh.
	// +optional
	OldSourceName string `json:"oldSourceName,omitempty" protobuf:"bytes,12,opt,name=oldSourceName"`
	// oldSourceKind is its kind in canonical form.
	// +optional
	OldSourceKind string `json:"oldSourceKind,omitempty" protobuf:"bytes,13,opt,name=oldSourceKind"`
}

// RefreshField is one difference that a refresh brings.
type RefreshField struct {
	// path of the field in the effective spec.
	// +required
	Path string `json:"path" protobuf:"bytes,1,opt,name=path"`
	// old is the value before.
	// +optional
	Old string `json:"old,omitempty" protobuf:"bytes,2,opt,name=old"`
	// new is the value after.
	// +optional
	New string `json:"new,omitempty" protobuf:"bytes,3,opt,name=new"`
	// effect is Live when the change reaches the VM at once, Restart when it waits
	// for a power cycle, None when it does not reach a VM that exists.
	// +optional
	Effect RefreshEffect `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect,casttype=RefreshEffect"`
}

// RefreshEffect says when a change takes effect.
// +enum
type RefreshEffect string

const (
	// RefreshEffectLive takes effect at once.
	RefreshEffectLive RefreshEffect = "Live"
	// RefreshEffectRestart takes effect with the next power cycle.
	RefreshEffectRestart RefreshEffect = "Restart"
	// RefreshEffectNone takes no effect on a virtual machine that exists.
	RefreshEffectNone RefreshEffect = "None"
)

// PowerOptions is the body of start, stop, restart and suspend. The answer is
// the virtual machine.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PowerOptions struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata; only the name, which must be empty or that of
	// the virtual machine, is looked at.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// dryRun with the value All checks without changing anything.
	// +optional
	// +listType=atomic
	DryRun []string `json:"dryRun,omitempty" protobuf:"bytes,2,rep,name=dryRun"`
	// mode sets powerOffMode, suspendMode or restartMode with the operation;
	// unchanged when unset. Not allowed for start.
	// +optional
	Mode PowerOpMode `json:"mode,omitempty" protobuf:"bytes,3,opt,name=mode,casttype=PowerOpMode"`
}

// ExpandOptions are the query parameters of expand-spec.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ExpandOptions struct {
	metav1.TypeMeta `json:",inline"`

	// generation is stored, for the revisions in status, or latest, for the
	// live instance type and preference. Stored when empty.
	// +optional
	Generation string `json:"generation,omitempty" protobuf:"bytes,1,opt,name=generation"`
}

// VirtualMachineConsole is the body and the answer of console. Of the body nothing but the
// name is looked at.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineConsole struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata: name and namespace of the virtual machine.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// status says how to connect. It is empty in the answer to a dry run.
	// +optional
	Status VirtualMachineConsoleStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
}

// VirtualMachineConsoleStatus says how to connect to the console of a virtual machine: to its
// ESXi host, over a WebSocket, once. Who has the ticket has the console.
type VirtualMachineConsoleStatus struct {
	// url of the WebSocket (WebMKS), ticket included. Its protocol is RFB with extensions of
	// VMware.
	// +optional
	URL string `json:"url,omitempty" protobuf:"bytes,1,opt,name=url"`
	// host is the ESXi host, as vCenter names it.
	// +optional
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
	// port of the host.
	// +optional
	Port int32 `json:"port,omitempty" protobuf:"varint,3,opt,name=port"`
	// ticket to connect with, good for one connection.
	// +optional
	Ticket string `json:"ticket,omitempty" protobuf:"bytes,4,opt,name=ticket"`
	// sslThumbprint is the SHA-1 thumbprint of the certificate of the host. Empty if the host
	// tells none.
	// +optional
	SSLThumbprint string `json:"sslThumbprint,omitempty" protobuf:"bytes,5,opt,name=sslThumbprint"`
	// sslThumbprintSHA256 is the SHA-256 thumbprint of the same. Empty before vSphere 7.0.3.
	// +optional
	SSLThumbprintSHA256 string `json:"sslThumbprintSHA256,omitempty" protobuf:"bytes,6,opt,name=sslThumbprintSHA256"`
	// expirationTimestamp is when the ticket ends at the latest if nobody connects: 30 minutes
	// after it was given, as VMware says of such tickets. vCenter itself does not tell.
	// +optional
	ExpirationTimestamp metav1.Time `json:"expirationTimestamp,omitempty" protobuf:"bytes,7,opt,name=expirationTimestamp"` //nolint:notimestamp // it is stored, and other APIs call it so
	// remoteConsoleURL opens VMware Remote Console, for who has an account of vCenter and logs
	// in with that. The ticket is no part of it.
	// +optional
	RemoteConsoleURL string `json:"remoteConsoleURL,omitempty" protobuf:"bytes,8,opt,name=remoteConsoleURL"`
}
