// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Kind is what a caller can do about an error.
type Kind string

const (
	// None is no error.
	None Kind = ""
	// Temporary passes by itself: network, overload, an operation of somebody
	// else on the same object.
	Temporary Kind = "Temporary"
	// NotFound means that a managed object is gone.
	NotFound Kind = "NotFound"
	// AlreadyExists means that a name or an identity is taken.
	AlreadyExists Kind = "AlreadyExists"
	// WrongState means that the power state or the connection state does not
	// allow the operation, or that the VM is no longer as it was when the operation
	// was planned: read again and plan again.
	WrongState Kind = "WrongState"
	// ToolsUnavailable means that the guest cannot be asked.
	ToolsUnavailable Kind = "ToolsUnavailable"
	// Invalid means that vSphere refuses the request as it is: only another
	// request can succeed.
	Invalid Kind = "Invalid"
	// Denied means that the user lacks a privilege or the login is refused.
	Denied Kind = "Denied"
	// NoResources means that a host, datastore or pool has too little left.
	NoResources Kind = "NoResources"
	// Cancelled means that the operation was cancelled.
	Cancelled Kind = "Cancelled"
	// Other is every other error.
	Other Kind = "Other"
)

// kinds are the faults that are known, in the order in which they are tried:
// special ones first, for a fault matches its base types too.
var kinds = []struct {
	kind  Kind
	match func(error) bool
}{
	{Cancelled, is[*types.RequestCanceled]},
	{NotFound, is[*types.ManagedObjectNotFound]},
	{AlreadyExists, is[*types.DuplicateName]},
	{AlreadyExists, is[*types.AlreadyExists]},
	{AlreadyExists, is[*types.FileAlreadyExists]},
	{ToolsUnavailable, is[*types.ToolsUnavailable]},
	{Temporary, is[*types.TaskInProgress]},
	{Temporary, is[*types.HostNotConnected]},
	{Temporary, is[*types.HostCommunication]},
	{Temporary, is[*types.NotAuthenticated]},
	{Temporary, is[*types.Timedout]},
	{WrongState, is[*types.ConcurrentAccess]},
	{WrongState, is[*types.InvalidPowerState]},
	{WrongState, is[*types.InvalidHostState]},
	{WrongState, is[*types.InvalidState]},
	{Denied, is[*types.NoPermission]},
	{Denied, is[*types.InvalidLogin]},
	{Denied, is[*types.RestrictedVersion]},
	{NoResources, is[*types.NoDiskSpace]},
	{NoResources, is[*types.InsufficientResourcesFault]},
	{NoResources, is[*types.InsufficientCpuResourcesFault]},
	{NoResources, is[*types.InsufficientMemoryResourcesFault]},
	{NoResources, is[*types.NoCompatibleHost]},
	{Invalid, is[*types.CpuHotPlugNotSupported]},
	{Invalid, is[*types.MemoryHotPlugNotSupported]},
	{Invalid, is[*types.InvalidVmConfig]},
	{Invalid, is[*types.InvalidDeviceSpec]},
	{Invalid, is[*types.InvalidArgument]},
	{Invalid, is[*types.InvalidName]},
	{Invalid, is[*types.NotSupported]},
	{NotFound, is[*types.NotFound]},
}

func is[T types.BaseMethodFault](err error) bool {
	var target T
	_, ok := fault.As(err, &target)
	return ok
}

// KindOf sorts err. Faults of tasks and of calls are treated alike.
func KindOf(err error) Kind {
	if err == nil {
		return None
	}
	for _, k := range kinds {
		if k.match(err) {
			return k.kind
		}
	}
	if k, ok := deployment(err); ok {
		return k
	}
	switch {
	case session.NotFound(err):
		return NotFound
	case errors.Is(err, context.Canceled):
		return Cancelled
	case session.IsTemporary(err), errors.Is(err, context.DeadlineExceeded):
		return Temporary
	}
	return Other
}

// classes are the error classes of vCenter's REST API.
var classes = map[string]Kind{
	"com.vmware.vapi.std.errors.already_exists":      AlreadyExists,
	"com.vmware.vapi.std.errors.not_found":           NotFound,
	"com.vmware.vapi.std.errors.invalid_argument":    Invalid,
	"com.vmware.vapi.std.errors.unauthorized":        Denied,
	"com.vmware.vapi.std.errors.resource_busy":       Temporary,
	"com.vmware.vapi.std.errors.service_unavailable": Temporary,
	"com.vmware.vapi.std.errors.timed_out":           Temporary,
}

// deployment sorts the failure of a deployment from a content library, which
// arrives as an answer, not as a fault.
func deployment(err error) (Kind, bool) {
	var d *vcenter.DeploymentError
	if !errors.As(err, &d) {
		return None, false
	}
	for _, e := range d.Errors {
		if e.Error == nil {
			continue
		}
		if k, ok := classes[e.Error.Class]; ok {
			return k, true
		}
	}
	return Other, true
}

// Duplicate returns the object that has the name which a create asked for.
func Duplicate(err error) (types.ManagedObjectReference, bool) {
	var d *types.DuplicateName
	if _, ok := fault.As(err, &d); ok {
		return d.Object, true
	}
	return types.ManagedObjectReference{}, false
}

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
	if e.Fault.LocalizedMessage == "" {
		return name
	}
	return name + ": " + e.Fault.LocalizedMessage
}

// GetLocalizedMethodFault lets the library's fault package look inside.
func (e *TaskError) GetLocalizedMethodFault() *types.LocalizedMethodFault { return e.Fault }
