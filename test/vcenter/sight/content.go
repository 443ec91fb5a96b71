// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package sight

import (
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// viewed are the properties of an entity that System.View is enough for; all others
// need System.Read (API, Required Privileges of ManagedEntity's properties).
var viewed = map[string]bool{"name": true, "parent": true, "overallStatus": true, "effectiveRole": true, "permission": true}

// Mask reduces the properties of an object to those that the account may see. A property without permission is in the
// missing set with NoPermission (API, ObjectContent.missingSet).
func (s *Sight) Mask(account string, content *types.ObjectContent) {
	if d, ok := s.Disguise(content.Obj); ok {
		d.mask(content)
	}
	role := s.role(account, content.Obj)
	s.mu.Lock()
	omitted := s.omitted[content.Obj]
	s.mu.Unlock()
	shown := content.PropSet[:0]
	for _, p := range content.PropSet {
		if omitted[p.Name] {
			content.MissingSet = append(content.MissingSet, types.MissingProperty{Path: p.Name, Fault: unreadable})
			continue
		}
		if id := lacks(role, p.Name); id != "" {
			content.MissingSet = append(content.MissingSet, missing(content.Obj, p.Name, id))
			continue
		}
		if refs, ok := p.Val.(types.ArrayOfManagedObjectReference); ok {
			refs.ManagedObjectReference = s.visible(account, refs.ManagedObjectReference)
			p.Val = refs
		}
		shown = append(shown, p)
	}
	content.PropSet = shown
}

// unreadable is the fault of a property that vCenter could not read (vmware/govmomi#3686,
// rbvmomi#89).
var unreadable = types.LocalizedMethodFault{
	Fault:            &types.SystemError{Reason: "vim.fault.GenericVmConfigFault"},
	LocalizedMessage: "A general system error occurred: vim.fault.GenericVmConfigFault",
}

// Omit makes single properties of an object unreadable: answers have them in the missing set,
// each with its fault (API, ObjectContent.missingSet and ObjectUpdate.missingSet). No paths
// make all readable again.
func (s *Sight) Omit(ref types.ManagedObjectReference, paths ...string) {
	omitted := map[string]bool{}
	for _, p := range paths {
		omitted[p] = true
	}
	s.mu.Lock()
	s.omitted[ref] = omitted
	s.mu.Unlock()
	s.touch(ref)
}

// visible removes the objects that the account does not see: lists of the inventory are filtered by System.View.
func (s *Sight) visible(account string, refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	s.mu.Lock()
	plain := len(s.grants[account]) == 0 && len(s.forgotten) == 0
	s.mu.Unlock()
	if plain {
		return refs
	}
	return slices.DeleteFunc(slices.Clone(refs), func(ref types.ManagedObjectReference) bool { return !s.Sees(account, ref) })
}

// lacks returns the privilege that the role misses to read the property.
func lacks(role privileges, property string) string {
	if role == nil {
		return ""
	}
	if _, ok := role[SystemView]; !ok {
		return SystemView
	}
	if _, ok := role[SystemRead]; !ok && !viewed[property] {
		return SystemRead
	}
	return ""
}

func missing(ref types.ManagedObjectReference, path, privilege string) types.MissingProperty {
	return types.MissingProperty{Path: path, Fault: types.LocalizedMethodFault{
		Fault:            &types.NoPermission{Object: &ref, PrivilegeId: privilege},
		LocalizedMessage: "Permission to perform this operation was denied.",
	}}
}
