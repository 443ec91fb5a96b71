// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package orphans defines the API for the report about vSphere VMs whose VirtualMachine does not exist. The report is
// not an API object: it is not stored and cannot be watched or changed. It is not listed in API discovery.
//
// With the parameter records, the report lists the records of objects in vSphere VMs, in pages. Only privileged users
// can read it because it contains objects of all namespaces.
//
// A client gets the report with GET at Path. It needs permission to list Resource in the group vm.slipway.dev. If no
// vCenter can be read, the server responds with status 503 and Retry-After. Report.Unknown lists the vCenters that
// could not be read.
package orphans

import vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"

// Resource is the resource name for the permission to read the report.
const Resource = "orphans"

// Root is the path of the group version, and Path is the path of the report.
const (
	Root = "/apis/" + vmv1alpha1.GroupName + "/v1alpha1"
	Path = Root + "/" + Resource
)

// Parameters of the request.
const (
	// ParamRecords, with the value Heads or Texts, requests Kept instead of Orphans.
	ParamRecords = "records"
	// ParamNamespace restricts Kept to one namespace. Empty means all.
	ParamNamespace = "namespace"
	// ParamName restricts Kept to objects with a name. Empty means all.
	ParamName = "name"
	// ParamContinue is the value of Report.Continue of the previous page.
	ParamContinue = "continue"
)

// Values of ParamRecords.
const (
	// RecordsWithoutContent requests Kept without the content of the records.
	RecordsWithoutContent = "heads"
	// RecordsWithContent requests Kept with the content of the records.
	RecordsWithContent = "texts"
)

// MaxRecordsWithoutContent and MaxRecordsWithContent are the maximum number of items per page. 100 records are smaller than 7 MiB.
const MaxRecordsWithoutContent, MaxRecordsWithContent = 1000, 100

// Report lists the orphans.
type Report struct {
	// VCenter is the host name of the vCenter, or a comma-separated list of the vCenters that the report covers.
	VCenter string `json:"vCenter"`
	// Orphans are the orphans, by namespace and name.
	Orphans []Orphan `json:"orphans"`
	// RecordedVM are the VMs whose object differs from its record, by namespace, name and managed object ID. It is set instead
	// of Orphans if the request has ParamRecords.
	Kept []RecordedVM `json:"kept,omitempty"`
	// Continue is the token for the next page of Kept. It is empty on the last page.
	Continue string `json:"continue,omitempty"`
	// UncoveredVCenter are the vCenters that the report does not cover. They can have more orphans.
	Unknown []UncoveredVCenter `json:"unknown,omitempty"`
}

// UncoveredVCenter is a vCenter that a report does not cover.
type UncoveredVCenter struct {
	// VCenter is the host name of the vCenter.
	VCenter string `json:"vCenter"`
	// Why is the reason why the report does not cover it.
	Why string `json:"why"`
}

// Orphan is a vSphere VM that belongs to a VirtualMachine that does not exist or that has another VM.
type Orphan struct {
	// Namespace, Name and UID identify the VirtualMachine.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// VCenter is the host name of the vCenter that contains the VM.
	VCenter string `json:"vCenter,omitempty"`
	// UniqueID is the managed object ID of the VM.
	UniqueID string `json:"uniqueID"`
	// CopyOf is the managed object ID of the VirtualMachine's current VM. The orphan can be a copy of that VM, or be the
	// same VM with a new ID. It is empty if the VirtualMachine does not exist.
	CopyOf string `json:"copyOf,omitempty"`
	// VSphereName is the name of the VM in vSphere.
	VSphereName string `json:"vSphereName"`
}
