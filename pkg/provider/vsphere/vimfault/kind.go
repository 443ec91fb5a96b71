// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"context"
	"errors"
	"net/http"

	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// Kind classifies an error by what a caller can do about it.
type Kind string

const (
	// None means that there is no error.
	None Kind = ""
	// Temporary errors end without a change of the request: network errors, overload, or another
	// client's operation on the same object.
	Temporary Kind = "Temporary"
	// NotFound means that a managed object does not exist. Gone reports whether it is a given
	// object.
	NotFound Kind = "NotFound"
	// AlreadyExists means that a name or an identity is in use.
	AlreadyExists Kind = "AlreadyExists"
	// WrongState means that the power state or the connection state does not allow the operation,
	// or that the VM has changed since the operation was planned. Read the VM and plan again.
	WrongState Kind = "WrongState"
	// ToolsUnavailable means that VMware Tools in the guest cannot be reached.
	ToolsUnavailable Kind = "ToolsUnavailable"
	// Invalid means that vSphere refuses the request. Only a different request can succeed.
	Invalid Kind = "Invalid"
	// Denied means that the user lacks a privilege or that the login was refused.
	Denied Kind = "Denied"
	// NoResources means that a host, datastore or resource pool has too little capacity left.
	NoResources Kind = "NoResources"
	// Cancelled means that the operation was cancelled or that the process is stopping: net/http
	// returns the cause of a context's end. The state in vSphere is unknown.
	Cancelled Kind = "Cancelled"
	// Other means any other error.
	Other Kind = "Other"
)

// kinds maps faults to their Kind. The first match is used. An interface matches a fault type and
// all types derived from it, so derived types precede their base types.
var kinds = []struct {
	kind  Kind
	match func(types.BaseMethodFault) bool
}{
	{Cancelled, is[*types.RequestCanceled]},
	{NotFound, is[*types.ManagedObjectNotFound]},
	{AlreadyExists, is[*types.DuplicateName]},
	{AlreadyExists, is[*types.AlreadyExists]},
	{AlreadyExists, is[*types.FileAlreadyExists]},
	{ToolsUnavailable, is[*types.ToolsUnavailable]},
	{Temporary, is[types.BaseTaskInProgress]},
	{Temporary, is[*types.VAppOperationInProgress]},
	{Temporary, is[types.BaseHostCommunication]},
	{Temporary, is[*types.NotAuthenticated]}, // derived from NoPermission
	{Temporary, is[types.BaseTimedout]},
	// Backups and imports disable methods and lock files while they access a VM.
	{Temporary, is[*types.MethodDisabled]},
	{Temporary, is[*types.FileLocked]},
	{Temporary, is[*types.InaccessibleDatastore]},
	{WrongState, is[*types.ConcurrentAccess]},
	{WrongState, is[types.BaseInvalidState]},
	{Denied, is[types.BaseNoPermission]},
	{Denied, is[types.BaseInvalidLogin]},
	{Denied, is[*types.RestrictedVersion]},
	{Denied, is[*types.RestrictedByAdministrator]},
	{NoResources, is[*types.NoDiskSpace]},
	{NoResources, is[types.BaseInsufficientResourcesFault]},
	{NoResources, is[types.BaseNoCompatibleHost]},
	{Invalid, is[*types.CpuHotPlugNotSupported]},
	{Invalid, is[*types.MemoryHotPlugNotSupported]},
	{Invalid, is[types.BaseInvalidVmConfig]},
	{Invalid, is[types.BaseInvalidArgument]},
	{Invalid, is[types.BaseInvalidDatastore]},
	{Invalid, is[types.BaseNotSupported]},
	{Invalid, is[*types.InvalidName]},
	{NotFound, is[*types.NotFound]},
}

func is[T any](f types.BaseMethodFault) bool {
	_, ok := f.(T)
	return ok
}

// KindOf classifies err. Faults of tasks and of calls are treated alike. If a fault's own type has
// no Kind, its causes are checked. NotFound in a cause is ignored, because it concerns an object
// other than the operation's. Gone reports whether err concerns a given object.
func KindOf(err error) Kind {
	if err == nil {
		return None
	}
	for f := range faults(err) {
		if k := kindOfFault(f); k != Other {
			return k
		}
	}
	if k, ok := deployment(err); ok {
		return k
	}
	var lost *TaskLostError
	var changed *ChangedError
	var busy *BusyError
	var inUse *InUseError
	switch {
	case errors.As(err, &changed):
		return WrongState
	case errors.As(err, &busy), errors.As(err, &inUse):
		return Temporary
	case HasStatus(err, http.StatusNotFound):
		return NotFound
	case HasStatus(err, http.StatusUnauthorized), HasStatus(err, http.StatusForbidden):
		return Denied
	case errors.Is(err, context.Canceled), errors.Is(err, driver.ErrLeave):
		return Cancelled
	case errors.As(err, &lost), Unreachable(err), errors.Is(err, context.DeadlineExceeded):
		return Temporary
	}
	return Other
}

func kindOfFault(f types.BaseMethodFault) Kind {
	asked := true
	for f != nil {
		for _, k := range kinds {
			if k.match(f) && (asked || k.kind != NotFound) {
				return k.kind
			}
		}
		f, asked = cause(f), false
	}
	return Other
}

// classes maps the error classes of vCenter's REST API.
var classes = map[string]Kind{
	"com.vmware.vapi.std.errors.already_exists":      AlreadyExists,
	"com.vmware.vapi.std.errors.not_found":           NotFound,
	"com.vmware.vapi.std.errors.invalid_argument":    Invalid,
	"com.vmware.vapi.std.errors.unauthorized":        Denied,
	"com.vmware.vapi.std.errors.resource_busy":       Temporary,
	"com.vmware.vapi.std.errors.service_unavailable": Temporary,
	"com.vmware.vapi.std.errors.timed_out":           Temporary,
}

// deployment classifies the failure of a deployment from a content library, which is a REST
// response and not a fault.
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

// Duplicate returns the existing object that has the requested name.
func Duplicate(err error) (types.ManagedObjectReference, bool) {
	for f := range faults(err) {
		if d, ok := f.(*types.DuplicateName); ok {
			return d.Object, true
		}
	}
	return types.ManagedObjectReference{}, false
}
