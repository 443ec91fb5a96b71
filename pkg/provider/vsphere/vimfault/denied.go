// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"strings"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// AddMissingPrivileges adds the missing privileges and their objects to the message of a refused call.
// vCenter's own message is only "Permission to perform this operation was denied."; the fault names
// both.
func AddMissingPrivileges(err error) {
	if !soap.IsSoapFault(err) {
		return
	}
	for f := range faultsOf(err) {
		if missing := missingPrivileges(f); missing != "" {
			answer := soap.ToSoapFault(err)
			answer.String = strings.TrimSpace(answer.String + " (" + missing + ")")
			return
		}
	}
}

// missingPrivileges describes the missing privileges that a fault or its causes report. It returns
// an empty string if there are none, or if the session has ended.
func missingPrivileges(f types.BaseMethodFault) string {
	for range maxCauses {
		if f == nil {
			break
		}
		if denied, ok := f.(types.BaseNoPermission); ok && !isType[*types.NotAuthenticated](f) {
			return privilegesOf(denied.GetNoPermission())
		}
		f = causeOf(f)
	}
	return ""
}

func privilegesOf(f *types.NoPermission) string {
	var all []string
	// Since vSphere 7.0.3 the fault lists all missing privileges.
	for _, on := range f.MissingPrivileges {
		for _, id := range on.PrivilegeIds {
			all = append(all, id+" on "+on.Entity.Value)
		}
	}
	if len(all) == 0 && f.PrivilegeId != "" {
		id := f.PrivilegeId
		if f.Object != nil {
			id += " on " + f.Object.Value
		}
		all = append(all, id)
	}
	if len(all) == 0 {
		return ""
	}
	return "missing privilege " + conditions.JoinLimited(all, ", ")
}
