// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "cmp"

// Members returns the members of all steps, in the order of the steps.
func (g *VirtualMachineGroup) Members() []VirtualMachineGroupMember {
	var all []VirtualMachineGroupMember
	for i := range g.Spec.BootOrder {
		all = append(all, g.Spec.BootOrder[i].Members...)
	}
	return all
}

// HasMember reports whether the spec of the group lists the member.
func (g *VirtualMachineGroup) HasMember(kind, name string) bool {
	for i := range g.Spec.BootOrder {
		for _, m := range g.Spec.BootOrder[i].Members {
			if m.Matches(kind, name) {
				return true
			}
		}
	}
	return false
}

// Matches reports whether the member has the kind and name.
func (m VirtualMachineGroupMember) Matches(kind, name string) bool {
	return m.Name == name && cmp.Or(m.Kind, MachineMemberKind) == kind
}

// MemberStatus returns the status of a member, or nil if the group's status does not contain it.
func (g *VirtualMachineGroup) MemberStatus(kind, name string) *VirtualMachineGroupMemberStatus {
	for i := range g.Status.Members {
		if m := &g.Status.Members[i]; m.Kind == kind && m.Name == name {
			return m
		}
	}
	return nil
}
