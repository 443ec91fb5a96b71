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

// Kind is what a caller can do about an error.
type Kind string

const (
	// None is no error.
	None Kind = ""
	// Temporary passes by itself: network, overload, an operation of somebody
	// else on the same object.
	Temporary Kind = "Temporary"
	// NotFound means that a managed object is gone; Gone tells which.
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
	// Cancelled means that the operation was cancelled, or that the process ends: net/http
	// returns the cause of the end of a context. Nothing is known of what vSphere does.
	Cancelled Kind = "Cancelled"
	// Other is every other error.
	Other Kind = "Other"
)

// kinds are the faults that are known, in the order in which they are tried. An
// interface stands for a type of fault and all that derive from it, so that special
// ones come before those that they derive from.
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
	{Temporary, is[*types.NotAuthenticated]}, // a NoPermission
	{Temporary, is[types.BaseTimedout]},
	// Backups and imports disable methods while they work on a VM, and hold its files.
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

// KindOf sorts err. Faults of tasks and of calls are treated alike. A fault that says
// nothing by itself is sorted by what caused it, but for NotFound: what an operation
// on one object misses is another object. Of a NotFound as well, Gone tells which
// object it is about.
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
	for f := range faults(err) {
		if d, ok := f.(*types.DuplicateName); ok {
			return d.Object, true
		}
	}
	return types.ManagedObjectReference{}, false
}
