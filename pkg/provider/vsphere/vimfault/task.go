// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// TaskError is the failure of a task.
type TaskError struct {
	// Fault is what vSphere reported.
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
	if property := Property(e); property != "" && !strings.Contains(name, property) {
		name += " (" + property + ")"
	}
	// Services that call others say in words at most what these have answered.
	if because := reasonOf(e.Fault.Fault); because != "" {
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

// fullDatastore returns the name of the datastore that has no room for what was requested; empty if
// the fault has another cause.
func fullDatastore(f types.BaseMethodFault) string {
	for range maxCauses {
		if f == nil {
			break
		}
		if full, ok := f.(*types.NoDiskSpace); ok {
			return full.Datastore
		}
		f = cause(f)
	}
	return ""
}

// reasonOf names what caused a fault, the first cause last; empty for nothing.
func reasonOf(f types.BaseMethodFault) string {
	var names []string
	for range maxCauses {
		if f == nil {
			break
		}
		if f = cause(f); f != nil {
			names = append(names, faultName(f))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "because of " + strings.Join(names, ", ")
}

// maxCauses bounds what is told of a chain of causes.
const maxCauses = 4

// GetLocalizedMethodFault lets the library's fault package look inside.
func (e *TaskError) GetLocalizedMethodFault() *types.LocalizedMethodFault { return e.Fault }

// TaskLostError means that vCenter no longer knows a task, as after a restart, which
// its tasks do not survive. Whether it was carried out can only be read from the object
// that it was about.
type TaskLostError struct {
	// Task that is gone.
	Task types.ManagedObjectReference
}

// Error implements error.
func (e *TaskLostError) Error() string {
	return "vCenter has lost task " + e.Task.Value + ": its outcome is unknown"
}
