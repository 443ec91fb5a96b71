// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

func task(f types.BaseMethodFault) error {
	return fmt.Errorf("powering on: %w", &vimfault.TaskError{Fault: &types.LocalizedMethodFault{Fault: f, LocalizedMessage: "text in any language"}})
}

// causedBy sets the cause of f.
func causedBy(f, cause types.BaseMethodFault) types.BaseMethodFault {
	f.GetMethodFault().FaultCause = &types.LocalizedMethodFault{Fault: cause}
	return f
}

// restStatus returns govmomi's error for a REST response with the status.
func restStatus(t *testing.T, status int) error {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer server.Close()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := rest.NewClient(&vim25.Client{Client: soap.NewClient(u, true)})
	return fmt.Errorf("finding: %w", c.Do(t.Context(), c.Resource("/x").Request(http.MethodGet), nil))
}

func TestKindOf_UsesFaultTypes(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want vimfault.Kind
	}{
		{"nil", nil, vimfault.None},
		{"task in progress", task(&types.TaskInProgress{}), vimfault.Temporary},
		{"wrong power state", task(&types.InvalidPowerState{}), vimfault.WrongState},
		{"changed since it was read", task(&types.ConcurrentAccess{}), vimfault.WrongState},
		{"fault of a call", soap.WrapVimFault(&types.ManagedObjectNotFound{}), vimfault.NotFound},
		{"duplicate name", task(&types.DuplicateName{}), vimfault.AlreadyExists},
		{"no tools", soap.WrapVimFault(&types.ToolsUnavailable{}), vimfault.ToolsUnavailable},
		{"no space", task(&types.NoDiskSpace{}), vimfault.NoResources},
		{"hot plug", task(&types.CpuHotPlugNotSupported{}), vimfault.Invalid},
		{"privilege", task(&types.NoPermission{}), vimfault.Denied},
		{"unknown fault", task(&types.VmConfigFault{}), vimfault.Other},
		{"a TaskInProgress of a vApp", task(&types.VAppTaskInProgress{}), vimfault.Temporary},
		{"a HostCommunication", task(&types.HostNotReachable{}), vimfault.Temporary},
		{"a method that a backup disabled", task(&types.MethodDisabled{}), vimfault.Temporary},
		{"a locked file", task(&types.FileLocked{}), vimfault.Temporary},
		{"an inaccessible datastore", task(&types.InaccessibleDatastore{}), vimfault.Temporary},
		{"an ended session, a NoPermission", task(&types.NotAuthenticated{}), vimfault.Temporary},
		{"an InvalidHostState", task(&types.InvalidHostConnectionState{}), vimfault.WrongState},
		{"a pending question, an InvalidState", task(&types.QuestionPending{}), vimfault.WrongState},
		{"admission control of HA, an InsufficientResourcesFault", task(&types.InsufficientFailoverResourcesFault{}), vimfault.NoResources},
		{"an InsufficientResourcesFault", task(&types.InsufficientStorageSpace{}), vimfault.NoResources},
		{"a NoCompatibleHost", task(&types.NoCompatibleHostWithAccessToDevice{}), vimfault.NoResources},
		{"an InvalidDeviceSpec", task(&types.InvalidDeviceBacking{}), vimfault.Invalid},
		{"an InvalidArgument", task(&types.IncompatibleSetting{}), vimfault.Invalid},
		{"an InvalidLogin", soap.WrapVimFault(&types.PasswordExpired{}), vimfault.Denied},
		{"forbidden by the administrator", task(&types.RestrictedByAdministrator{}), vimfault.Denied},
		{"caused by a full datastore", task(causedBy(&types.GenericVmConfigFault{}, &types.NoDiskSpace{})), vimfault.NoResources},
		{"the fault's own kind, not its cause's", task(causedBy(&types.InvalidArgument{}, &types.NoDiskSpace{})), vimfault.Invalid},
		{"caused by another object that was not found", task(causedBy(&types.CannotAccessVmComponent{}, &types.ManagedObjectNotFound{})), vimfault.Other},
		{"the second of two errors", errors.Join(io.ErrNoProgress, task(&types.NoPermission{})), vimfault.Denied},
		{"a lost task", fmt.Errorf("destroying: %w", &vimfault.TaskLostError{}), vimfault.Temporary},
		{"401 of REST", restStatus(t, http.StatusUnauthorized), vimfault.Denied},
		{"403 of REST", restStatus(t, http.StatusForbidden), vimfault.Denied},
		{"404 of REST", restStatus(t, http.StatusNotFound), vimfault.NotFound},
		{"503", fmt.Errorf("deploying: %w", &vimfault.UnavailableError{StatusCode: 503}), vimfault.Temporary},
		{"refused", fmt.Errorf("dial: %w", syscall.ECONNREFUSED), vimfault.Temporary},
		{"deployment", fmt.Errorf("deploying: %w", &vcenter.DeploymentError{Errors: []vcenter.OVFError{
			{}, {Error: &vcenter.Error{Class: "com.vmware.vapi.std.errors.already_exists"}},
		}}), vimfault.AlreadyExists},
		{"deployment without a class", &vcenter.DeploymentError{}, vimfault.Other},
		{"eof", io.EOF, vimfault.Temporary},
		{"cancelled", context.Canceled, vimfault.Cancelled},
		{"interrupted by the end of the process", &url.Error{Op: "Post", Err: driver.ErrLeave}, vimfault.Cancelled},
		{"plain", errors.New("x"), vimfault.Other},
		{"plain text that names a fault", errors.New("TaskInProgress"), vimfault.Other},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := vimfault.KindOf(tc.err); got != tc.want {
				t.Errorf("KindOf(%v) = %q, want %q", tc.err, got, tc.want)
			}
		})
	}
}

func TestIsNotFound_RequiresTheGivenObject(t *testing.T) {
	vm := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	gone := func(kind, id string) types.BaseMethodFault {
		return &types.ManagedObjectNotFound{Obj: types.ManagedObjectReference{Type: kind, Value: id, ServerGUID: "guid"}}
	}
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"the VM", soap.WrapVimFault(gone("VirtualMachine", "vm-1")), true},
		{"the VM, reported by a task", task(gone("VirtualMachine", "vm-1")), true},
		{"the VM, as the cause", task(causedBy(&types.CannotAccessVmComponent{}, gone("VirtualMachine", "vm-1"))), true},
		{"the VM, second of two errors", errors.Join(task(&types.NoPermission{}), soap.WrapVimFault(gone("VirtualMachine", "vm-1"))), true},
		{"the task", fmt.Errorf("waiting: %w", soap.WrapVimFault(gone("Task", "vm-1"))), false},
		{"another VM", soap.WrapVimFault(gone("VirtualMachine", "vm-2")), false},
		{"an object without a name", soap.WrapVimFault(&types.ManagedObjectNotFound{}), false},
		{"the task is lost", &vimfault.TaskLostError{Task: vm}, false},
		{"the network", io.EOF, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := vimfault.IsNotFound(tc.err, vm); got != tc.want {
				t.Errorf("IsNotFound(%v) = %v, want %v", tc.err, got, tc.want)
			}
		})
	}
}

func TestRefused_RequiresAFault(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"fault of a task", task(&types.InvalidPowerState{}), true},
		{"fault of a call", soap.WrapVimFault(&types.ToolsUnavailable{}), true},
		{"busy with another task", task(&types.TaskInProgress{}), true},
		{"a disconnected host", task(&types.HostNotConnected{}), true},
		{"the host did not respond in time", task(&types.HostNotReachable{}), false},
		{"the task is lost", &vimfault.TaskLostError{}, false},
		{"both", errors.Join(task(&types.NoPermission{}), io.EOF), true},
		{"cancelled task", task(&types.RequestCanceled{}), false},
		{"the host did not respond", task(&types.HostCommunication{}), false},
		{"response lost", fmt.Errorf("resetting: %w", io.EOF), false},
		{"the caller stopped waiting", context.Canceled, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := vimfault.IsRefused(tc.err); got != tc.want {
				t.Errorf("Refused(%v) = %v, want %v", tc.err, got, tc.want)
			}
		})
	}
}

func TestInvalidBacking_IsFoundInCauses(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"of a task", task(&types.InvalidDeviceBacking{}), true},
		{"as the cause", task(causedBy(&types.GenericVmConfigFault{}, &types.InvalidDeviceBacking{})), true},
		{"another part of a device", task(&types.InvalidDeviceSpec{}), false},
		{"nil", nil, false},
	} {
		if got := vimfault.IsInvalidBacking(tc.err); got != tc.want {
			t.Errorf("%s: InvalidBacking = %v, want %v", tc.name, got, tc.want)
		}
	}
}
