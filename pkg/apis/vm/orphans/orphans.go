// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package orphans is the report about VMs of vSphere whose VirtualMachine does not
// exist. It is no object: nothing of it is stored, watched or changed, and it is not
// among the resources that the API lists.
//
// With the parameter records it is about what VMs keep of their objects as well, pages of it:
// that is for privileged users, for it has the contents of all namespaces.
//
// The report is read with GET at Path. That takes the right to list Resource in the
// group vm.slipway.dev. A server that cannot tell of any vCenter now answers 503 with
// Retry-After; of which it cannot tell is in Unknown.
package orphans

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// Resource is what the right to read the report is about.
const Resource = "orphans"

// Root is the path of the group, and Path that of the report.
const (
	Root = "/apis/" + vmv1alpha1.GroupName + "/v1alpha1"
	Path = Root + "/" + Resource
)

// Parameters of the request.
const (
	// ParamRecords with the value Heads or Texts asks for Kept instead of Orphans.
	ParamRecords = "records"
	// ParamNamespace restricts Kept to one namespace, empty for all.
	ParamNamespace = "namespace"
	// ParamName restricts Kept to objects of a name, empty for all.
	ParamName = "name"
	// ParamContinue is Report.Continue of the page before.
	ParamContinue = "continue"
)

// Values of ParamRecords.
const (
	// Heads asks for what is kept, without the records.
	Heads = "heads"
	// Texts asks for the records, too.
	Texts = "texts"
)

// MaxHeads and MaxTexts bound a page: 100 records have less than 7 MiB.
const MaxHeads, MaxTexts = 1000, 100

// Report lists the orphans.
type Report struct {
	// VCenter is the host of the vCenter, or of those that the report covers, with commas
	// between them.
	VCenter string `json:"vCenter"`
	// Orphans by namespace and name, of those.
	Orphans []Orphan `json:"orphans"`
	// Kept are the VMs whose object is not as the record of it, by namespace, name and managed
	// object ID; only with ParamRecords, instead of Orphans.
	Kept []Kept `json:"kept,omitempty"`
	// Continue asks for the next page of Kept; empty when this is the last one.
	Continue string `json:"continue,omitempty"`
	// Unknown are the vCenters that the report does not cover: whether there are orphans in
	// these is not said.
	Unknown []Unknown `json:"unknown,omitempty"`
}

// Unknown is a vCenter that a report does not cover.
type Unknown struct {
	// VCenter is its host.
	VCenter string `json:"vCenter"`
	// Why it is not covered, for people.
	Why string `json:"why"`
}

// Orphan is a VM of vSphere that belongs to a VirtualMachine which does not exist, or which has
// another VM.
type Orphan struct {
	// Namespace, Name and UID of the VirtualMachine.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// VCenter is the host of the vCenter that the VM is in.
	VCenter string `json:"vCenter,omitempty"`
	// UniqueID is the managed object ID of the VM.
	UniqueID string `json:"uniqueID"`
	// CopyOf is the managed object ID of the VM that the VirtualMachine has: this one may be a
	// copy of it, or be it since it has another ID. It is empty if there is no VirtualMachine.
	CopyOf string `json:"copyOf,omitempty"`
	// VSphereName is the name of the VM in vSphere.
	VSphereName string `json:"vSphereName"`
}
