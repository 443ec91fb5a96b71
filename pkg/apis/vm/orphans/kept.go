// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package orphans

// State says how an object is beside the record that a VM keeps of it.
type State string

// States.
const (
	// Missing: the object does not exist.
	Missing State = "Missing"
	// Older: the object is of a time before the record, as in a store that was restored.
	Older State = "Older"
	// Newer: the object has changed since, and the server has yet to write the record.
	Newer State = "Newer"
	// NameTaken: another object has the name.
	NameTaken State = "NameTaken"
)

// Kept is a VM of vSphere with what it keeps of its object.
type Kept struct {
	Orphan `json:",inline"`
	// State of the object.
	State State `json:"state"`
	// Recorded is the generation of the record, 0 for none.
	Recorded int64 `json:"recorded,omitempty"`
	// Generation is that of the object, 0 for none.
	Generation int64 `json:"generation,omitempty"`
	// InstanceUUID and BiosUUID of the VM, in lower case.
	InstanceUUID string `json:"instanceUUID,omitempty"`
	BiosUUID     string `json:"biosUUID,omitempty"`
	// Record is the text of the record, only with Texts.
	Record string `json:"record,omitempty"`
}
