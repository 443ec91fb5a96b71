// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package volumes

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// searchable is the privilege on the root that the documentation of Cloud Native Storage (vSphere Storage, Roles and
// Privileges) requires. Refusing calls without it is a judgement.
const searchable = "Cns.Searchable"

// permitted refuses the calls of an account that lacks the privilege of the service.
func (s *Service) permitted(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Session == nil || s.allowed(ctx.Session.UserName, searchable) {
		return nil, nil
	}
	return nil, &types.NoPermission{Object: &method.This, PrivilegeId: searchable}
}
