// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"

	"github.com/vmware/govmomi/vapi/vcenter"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

func task(f types.BaseMethodFault) error {
	return fmt.Errorf("powering on: %w", &TaskError{Fault: &types.LocalizedMethodFault{Fault: f, LocalizedMessage: "text in any language"}})
}

func TestKindOfLooksAtTypes(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want Kind
	}{
		{"nil", nil, None},
		{"task in progress", task(&types.TaskInProgress{}), Temporary},
		{"wrong power state", task(&types.InvalidPowerState{}), WrongState},
		{"changed since it was read", task(&types.ConcurrentAccess{}), WrongState},
		{"fault of a call", soap.WrapVimFault(&types.ManagedObjectNotFound{}), NotFound},
		{"duplicate name", task(&types.DuplicateName{}), AlreadyExists},
		{"no tools", soap.WrapVimFault(&types.ToolsUnavailable{}), ToolsUnavailable},
		{"no space", task(&types.NoDiskSpace{}), NoResources},
		{"hot plug", task(&types.CpuHotPlugNotSupported{}), Invalid},
		{"privilege", task(&types.NoPermission{}), Denied},
		{"unknown fault", task(&types.VmConfigFault{}), Other},
		{"503", fmt.Errorf("deploying: %w", &session.UnavailableError{StatusCode: 503}), Temporary},
		{"refused", fmt.Errorf("dial: %w", syscall.ECONNREFUSED), Temporary},
		{"deployment", fmt.Errorf("deploying: %w", &vcenter.DeploymentError{Errors: []vcenter.OVFError{
			{}, {Error: &vcenter.Error{Class: "com.vmware.vapi.std.errors.already_exists"}},
		}}), AlreadyExists},
		{"deployment without a class", &vcenter.DeploymentError{}, Other},
		{"eof", io.EOF, Temporary},
		{"cancelled", context.Canceled, Cancelled},
		{"plain", errors.New("x"), Other},
		{"plain text that names a fault", errors.New("TaskInProgress"), Other},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := KindOf(tc.err); got != tc.want {
				t.Errorf("KindOf(%v) = %q, want %q", tc.err, got, tc.want)
			}
		})
	}
}

func TestOnlyAFaultIsARefusal(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"nil", nil, false},
		{"fault of a task", task(&types.InvalidPowerState{}), true},
		{"fault of a call", soap.WrapVimFault(&types.ToolsUnavailable{}), true},
		{"busy with another task", task(&types.TaskInProgress{}), true},
		{"both", errors.Join(task(&types.NoPermission{}), io.EOF), true},
		{"cancelled task", task(&types.RequestCanceled{}), false},
		{"the host did not answer", task(&types.HostCommunication{}), false},
		{"answer lost", fmt.Errorf("resetting: %w", io.EOF), false},
		{"nobody waits", context.Canceled, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := Refused(tc.err); got != tc.want {
				t.Errorf("Refused(%v) = %v, want %v", tc.err, got, tc.want)
			}
		})
	}
}
