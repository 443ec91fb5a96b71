// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RefreshOptions is the request body of refresh-instancetype and refresh-preference.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type RefreshOptions struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. Only the name is used; it must be empty or the name of the virtual
	// machine.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// dryRun with the value All returns the result without persisting changes.
	// +optional
	// +listType=atomic
	DryRun []string `json:"dryRun,omitempty" protobuf:"bytes,2,rep,name=dryRun"`
}

// RefreshResult is the response of refresh-instancetype and refresh-preference.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type RefreshResult struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. It contains the name and namespace of the virtual machine.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// sourceName is the name of the instance type or preference.
	// +optional
	SourceName string `json:"sourceName,omitempty" protobuf:"bytes,2,opt,name=sourceName"`
	// sourceKind is the kind of the instance type or preference, in canonical form.
	// +optional
	SourceKind string `json:"sourceKind,omitempty" protobuf:"bytes,3,opt,name=sourceKind"`
	// oldRevision is the ControllerRevision in use before the refresh.
	// +optional
	OldRevision string `json:"oldRevision,omitempty" protobuf:"bytes,4,opt,name=oldRevision"`
	// oldGeneration is the generation in use before the refresh.
	// +optional
	OldGeneration int64 `json:"oldGeneration,omitempty" protobuf:"varint,5,opt,name=oldGeneration"`
	// newRevision is the ControllerRevision that will be pinned.
	// +optional
	NewRevision string `json:"newRevision,omitempty" protobuf:"bytes,6,opt,name=newRevision"`
	// newGeneration is the generation that will be pinned.
	// +optional
	NewGeneration int64 `json:"newGeneration,omitempty" protobuf:"varint,7,opt,name=newGeneration"`
	// changed is false if the virtual machine already uses the newest revision. In that case, the refresh changes
	// nothing except that it removes a pin in spec.
	// +optional
	Changed bool `json:"changed,omitempty" protobuf:"varint,8,opt,name=changed"`
	// specPinCleared is true if the refresh removed a pinned revision from the matcher in spec. A GitOps tool restores
	// the pin if its source still contains it.
	// +optional
	SpecPinCleared bool `json:"specPinCleared,omitempty" protobuf:"varint,9,opt,name=specPinCleared"`
	// fields are the differences in the effective spec.
	// +optional
	// +listType=atomic
	Fields []RefreshField `json:"fields,omitempty" protobuf:"bytes,10,rep,name=fields"`
	// dryRun is true if nothing was written because the request was a dry run.
	// +optional
	DryRun bool `json:"dryRun,omitempty" protobuf:"varint,11,opt,name=dryRun"`
	// oldSourceName is the instance type or preference in use before the refresh.
	// +optional
	OldSourceName string `json:"oldSourceName,omitempty" protobuf:"bytes,12,opt,name=oldSourceName"`
	// oldSourceKind is the kind of oldSourceName, in canonical form.
	// +optional
	OldSourceKind string `json:"oldSourceKind,omitempty" protobuf:"bytes,13,opt,name=oldSourceKind"`
}

// RefreshField is a field that a refresh changes.
type RefreshField struct {
	// path of the field in the effective spec.
	// +required
	Path string `json:"path" protobuf:"bytes,1,opt,name=path"`
	// old is the previous value.
	// +optional
	Old string `json:"old,omitempty" protobuf:"bytes,2,opt,name=old"`
	// new is the new value.
	// +optional
	New string `json:"new,omitempty" protobuf:"bytes,3,opt,name=new"`
	// effect defines when the change takes effect: Live means immediately, Restart at the next power cycle, and None
	// never for an existing VM.
	// +optional
	Effect RefreshEffect `json:"effect,omitempty" protobuf:"bytes,4,opt,name=effect,casttype=RefreshEffect"`
}

// RefreshEffect defines when a change takes effect.
// +enum
type RefreshEffect string

const (
	// RefreshEffectLive takes effect immediately.
	RefreshEffectLive RefreshEffect = "Live"
	// RefreshEffectRestart takes effect at the next power cycle.
	RefreshEffectRestart RefreshEffect = "Restart"
	// RefreshEffectNone has no effect on an existing virtual machine.
	RefreshEffectNone RefreshEffect = "None"
)

// PowerOptions is the request body of start, stop, restart and suspend. The response is the virtual machine.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type PowerOptions struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. Only the name is used; it must be empty or the name of the virtual
	// machine.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// dryRun with the value All validates the request without persisting changes.
	// +optional
	// +listType=atomic
	DryRun []string `json:"dryRun,omitempty" protobuf:"bytes,2,rep,name=dryRun"`
	// mode also sets powerOffMode, suspendMode or restartMode in the spec. If unset, the spec's mode does not change.
	// Not allowed for start.
	// +optional
	Mode PowerOpMode `json:"mode,omitempty" protobuf:"bytes,3,opt,name=mode,casttype=PowerOpMode"`
}

// ExpandOptions are the query parameters of expand-spec.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ExpandOptions struct {
	metav1.TypeMeta `json:",inline"`

	// generation is stored or latest. stored uses the revisions in status; latest uses the current instance type and
	// preference. Defaults, when used, to stored.
	// +optional
	Generation string `json:"generation,omitempty" protobuf:"bytes,1,opt,name=generation"`
}

// VirtualMachineConsole is the request body and the response of console. Only the name in the request body is used.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type VirtualMachineConsole struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata. It contains the name and namespace of the virtual machine.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// status contains the connection data. It is empty in the response to a dry run.
	// +optional
	Status VirtualMachineConsoleStatus `json:"status,omitempty" protobuf:"bytes,2,opt,name=status"`
}

// VirtualMachineConsoleStatus contains the data for one WebSocket connection to the console on the ESXi host. Anyone
// who has the ticket can use the console.
type VirtualMachineConsoleStatus struct {
	// url of the WebSocket (WebMKS), including the ticket. The protocol is RFB with VMware extensions.
	// +optional
	URL string `json:"url,omitempty" protobuf:"bytes,1,opt,name=url"`
	// host is the name of the ESXi host in vCenter.
	// +optional
	Host string `json:"host,omitempty" protobuf:"bytes,2,opt,name=host"`
	// port of the host.
	// +optional
	Port int32 `json:"port,omitempty" protobuf:"varint,3,opt,name=port"`
	// ticket for one connection.
	// +optional
	Ticket string `json:"ticket,omitempty" protobuf:"bytes,4,opt,name=ticket"`
	// sslThumbprint is the SHA-1 thumbprint of the host certificate. Empty if the host does not report it.
	// +optional
	SSLThumbprint string `json:"sslThumbprint,omitempty" protobuf:"bytes,5,opt,name=sslThumbprint"`
	// sslThumbprintSHA256 is the SHA-256 thumbprint of the host certificate. Empty before vSphere 7.0.3.
	// +optional
	SSLThumbprintSHA256 string `json:"sslThumbprintSHA256,omitempty" protobuf:"bytes,6,opt,name=sslThumbprintSHA256"`
	// expirationTimestamp is the time after which an unused ticket is invalid: 30 minutes after it was issued, according
	// to VMware's documentation. vCenter does not report the time.
	// +optional
	ExpirationTimestamp metav1.Time `json:"expirationTimestamp,omitempty" protobuf:"bytes,7,opt,name=expirationTimestamp"` //nolint:notimestamp // other Kubernetes APIs use this name
	// remoteConsoleURL opens VMware Remote Console. The user must log in with a vCenter account. It does not contain the
	// ticket.
	// +optional
	RemoteConsoleURL string `json:"remoteConsoleURL,omitempty" protobuf:"bytes,8,opt,name=remoteConsoleURL"`
}
