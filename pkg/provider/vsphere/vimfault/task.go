// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// TaskError is returned when a task fails.
type TaskError struct {
	// Fault is the fault that vSphere reported.
	Fault *types.LocalizedMethodFault
}

// Error implements error.
func (e *TaskError) Error() string {
	if e.Fault == nil {
		return "task failed without a fault"
	}
	name := "unknown fault"
	if e.Fault.Fault != nil {
		name = faultName(e.Fault.Fault)
	}
	if e.Fault.LocalizedMessage != "" {
		name += ": " + e.Fault.LocalizedMessage
	}
	if property := InvalidProperty(e); property != "" && !strings.Contains(name, property) {
		name += " (" + property + ")"
	}
	// A service that calls another service does not include its fault in the message.
	if because := causesOf(e.Fault.Fault); because != "" {
		name += " (" + because + ")"
	}
	if full := fullDatastore(e.Fault.Fault); full != "" && !strings.Contains(e.Fault.LocalizedMessage, full) {
		name += ": datastore " + full + " has too little free space"
	}
	if missing := missingPrivileges(e.Fault.Fault); missing != "" {
		name += ": " + missing
	}
	return name
}

// fullDatastore returns the name of the datastore with too little free space. It is empty if the
// fault has another cause.
func fullDatastore(f types.BaseMethodFault) string {
	for range maxCauses {
		if f == nil {
			break
		}
		if full, ok := f.(*types.NoDiskSpace); ok {
			return full.Datastore
		}
		f = causeOf(f)
	}
	return ""
}

// causesOf lists the causes of a fault, the root cause last. It is empty if there are none.
func causesOf(f types.BaseMethodFault) string {
	var names []string
	for range maxCauses {
		if f == nil {
			break
		}
		if f = causeOf(f); f != nil {
			names = append(names, faultName(f))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "because of " + strings.Join(names, ", ")
}

// maxCauses limits the length of a reported chain of causes.
const maxCauses = 4

// GetLocalizedMethodFault makes the fault available to govmomi's fault package.
func (e *TaskError) GetLocalizedMethodFault() *types.LocalizedMethodFault { return e.Fault }

// TaskLostError is returned when vCenter no longer has a task. A restart of vCenter discards its
// tasks. Only the object's state shows whether the task was carried out.
type TaskLostError struct {
	// Task is the lost task.
	Task types.ManagedObjectReference
}

// Error implements error.
func (e *TaskLostError) Error() string {
	return "vCenter has lost task " + e.Task.Value + ": its outcome is unknown"
}
