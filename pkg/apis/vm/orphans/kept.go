// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

// RecordState is the state of an object relative to its record in the vSphere VM.
type RecordState string

// Possible states.
const (
	// Missing means that the object does not exist.
	Missing RecordState = "Missing"
	// Older means that the object is older than the record, for example after the store was restored from a backup.
	Older RecordState = "Older"
	// Newer means that the object has changed since the record was written, and that the server has not updated the
	// record yet.
	Newer RecordState = "Newer"
	// NameTaken means that another object has the name.
	NameTaken RecordState = "NameTaken"
)

// RecordedVM is a vSphere VM with the record of its object.
type RecordedVM struct {
	Orphan `json:",inline"`
	// RecordState is the state of the object.
	State RecordState `json:"state"`
	// Recorded is the generation in the record, or 0 if there is no record.
	Recorded int64 `json:"recorded,omitempty"`
	// Generation is the generation of the object, or 0 if it does not exist.
	Generation int64 `json:"generation,omitempty"`
	// InstanceUUID and BiosUUID are the UUIDs of the VM, in lower case.
	InstanceUUID string `json:"instanceUUID,omitempty"`
	BiosUUID     string `json:"biosUUID,omitempty"`
	// Record is the content of the record. It is set only if the request has the parameter records with the value Texts.
	Record string `json:"record,omitempty"`
}
