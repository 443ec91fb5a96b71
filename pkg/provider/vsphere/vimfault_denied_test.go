// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere_test

import (
	"io"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

const denial = "Permission to perform this operation was denied."

func TestAddMissingPrivileges_NamesPrivilegesAndObjects(t *testing.T) {
	pool := types.ManagedObjectReference{Type: "ResourcePool", Value: "resgroup-8"}
	all := types.NoPermission{PrivilegeId: "A", MissingPrivileges: []types.NoPermissionEntityPrivileges{
		{Entity: pool, PrivilegeIds: []string{"A", "B"}}, {Entity: types.ManagedObjectReference{Value: "vm-1"}, PrivilegeIds: []string{"C"}},
	}}
	for name, tc := range map[string]struct {
		fault any
		want  string
	}{
		"one privilege":            {types.NoPermission{Object: &pool, PrivilegeId: "A"}, " (missing privilege A on resgroup-8)"},
		"without an object":        {types.NoPermission{PrivilegeId: "A"}, " (missing privilege A)"},
		"several privileges":       {all, " (missing privilege A on resgroup-8, B on resgroup-8, C on vm-1)"},
		"without a privilege":      {types.NoPermission{}, ""},
		"a session that has ended": {types.NotAuthenticated{NoPermission: types.NoPermission{PrivilegeId: "System.View"}}, ""},
		"another fault":            {types.InvalidArgument{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fault := &soap.Fault{Code: "ServerFaultCode", String: denial}
			fault.Detail.Fault = tc.fault
			err := soap.WrapSoapFault(fault)
			vimfault.AddMissingPrivileges(err)
			if got, want := err.Error(), "ServerFaultCode: "+denial+tc.want; got != want {
				t.Errorf("message %q, want %q", got, want)
			}
		})
	}
	vimfault.AddMissingPrivileges(nil)
	vimfault.AddMissingPrivileges(io.EOF)
}

func TestTaskError_NamesMissingPrivileges(t *testing.T) {
	vm := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-1"}
	err := task(causedBy(&types.CannotAccessVmComponent{}, &types.NoPermission{Object: &vm, PrivilegeId: "A"}))
	if got, want := err.Error(), " (because of NoPermission): missing privilege A on vm-1"; !strings.HasSuffix(got, want) {
		t.Errorf("message %q, want the suffix %q", got, want)
	}
}
