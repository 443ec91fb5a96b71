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

// faultKinds maps faults to their Kind. The first match is used. An interface matches a fault type and
// all types derived from it, so derived types precede their base types.
var faultKinds = []struct {
	kind  Kind
	match func(types.BaseMethodFault) bool
}{
	{Cancelled, isType[*types.RequestCanceled]},
	{NotFound, isType[*types.ManagedObjectNotFound]},
	{AlreadyExists, isType[*types.DuplicateName]},
	{AlreadyExists, isType[*types.AlreadyExists]},
	{AlreadyExists, isType[*types.FileAlreadyExists]},
	{ToolsUnavailable, isType[*types.ToolsUnavailable]},
	{Temporary, isType[types.BaseTaskInProgress]},
	{Temporary, isType[*types.VAppOperationInProgress]},
	{Temporary, isType[types.BaseHostCommunication]},
	{Temporary, isType[*types.NotAuthenticated]}, // derived from NoPermission
	{Temporary, isType[types.BaseTimedout]},
	// Backups and imports disable methods and lock files while they access a VM.
	{Temporary, isType[*types.MethodDisabled]},
	{Temporary, isType[*types.FileLocked]},
	{Temporary, isType[*types.InaccessibleDatastore]},
	{WrongState, isType[*types.ConcurrentAccess]},
	{WrongState, isType[types.BaseInvalidState]},
	{Denied, isType[types.BaseNoPermission]},
	{Denied, isType[types.BaseInvalidLogin]},
	{Denied, isType[*types.RestrictedVersion]},
	{Denied, isType[*types.RestrictedByAdministrator]},
	{NoResources, isType[*types.NoDiskSpace]},
	{NoResources, isType[types.BaseInsufficientResourcesFault]},
	{NoResources, isType[types.BaseNoCompatibleHost]},
	{Invalid, isType[*types.CpuHotPlugNotSupported]},
	{Invalid, isType[*types.MemoryHotPlugNotSupported]},
	{Invalid, isType[types.BaseInvalidVmConfig]},
	{Invalid, isType[types.BaseInvalidArgument]},
	{Invalid, isType[types.BaseInvalidDatastore]},
	{Invalid, isType[types.BaseNotSupported]},
	{Invalid, isType[*types.InvalidName]},
	{NotFound, isType[*types.NotFound]},
}

func isType[T any](f types.BaseMethodFault) bool {
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
	for f := range faultsOf(err) {
		if k := kindOfFault(f); k != Other {
			return k
		}
	}
	if k, ok := deploymentKind(err); ok {
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
	case errors.Is(err, context.Canceled), errors.Is(err, driver.ErrShutdown):
		return Cancelled
	case errors.As(err, &lost), IsUnreachable(err), errors.Is(err, context.DeadlineExceeded):
		return Temporary
	}
	return Other
}

func kindOfFault(f types.BaseMethodFault) Kind {
	asked := true
	for f != nil {
		for _, k := range faultKinds {
			if k.match(f) && (asked || k.kind != NotFound) {
				return k.kind
			}
		}
		f, asked = causeOf(f), false
	}
	return Other
}

// restClasses maps the error classes of vCenter's REST API.
var restClasses = map[string]Kind{
	"com.vmware.vapi.std.errors.already_exists":      AlreadyExists,
	"com.vmware.vapi.std.errors.not_found":           NotFound,
	"com.vmware.vapi.std.errors.invalid_argument":    Invalid,
	"com.vmware.vapi.std.errors.unauthorized":        Denied,
	"com.vmware.vapi.std.errors.resource_busy":       Temporary,
	"com.vmware.vapi.std.errors.service_unavailable": Temporary,
	"com.vmware.vapi.std.errors.timed_out":           Temporary,
}

// deploymentKind classifies the failure of a deployment from a content library, which is a REST
// response and not a fault.
func deploymentKind(err error) (Kind, bool) {
	var d *vcenter.DeploymentError
	if !errors.As(err, &d) {
		return None, false
	}
	for _, e := range d.Errors {
		if e.Error == nil {
			continue
		}
		if k, ok := restClasses[e.Error.Class]; ok {
			return k, true
		}
	}
	return Other, true
}

// DuplicateObject returns the existing object that has the requested name.
func DuplicateObject(err error) (types.ManagedObjectReference, bool) {
	for f := range faultsOf(err) {
		if d, ok := f.(*types.DuplicateName); ok {
			return d.Object, true
		}
	}
	return types.ManagedObjectReference{}, false
}
