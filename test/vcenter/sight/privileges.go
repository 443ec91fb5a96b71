// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package sight

import (
	"maps"
	"slices"

	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Privileges of the API that every object needs: View to know of it, Read for its
// properties.
const (
	SystemView      = "System.View"
	SystemRead      = "System.Read"
	SystemAnonymous = "System.Anonymous"
)

// ReadOnly are the privileges of vCenter's role of that name.
func ReadOnly() []string { return []string{SystemAnonymous, SystemRead, SystemView} }

// privileges are the privileges of a role. nil is the Administrator's role, which has all.
type privileges map[string]struct{}

// Permit gives the account these privileges on the entity and its descendants. They replace inherited privileges:
// "permissions defined for a child object always override the permissions that are propagated from parent objects"
// (vSphere Security, Hierarchical Inheritance of Permissions). An empty list is the role No Access.
//
// A virtual machine inherits from two parents. Here only the folder counts, so that one permission is enough to
// remove a privilege.
func (s *Sight) Permit(account string, entity types.ManagedObjectReference, ids ...string) {
	role := privileges{}
	for _, id := range ids {
		role[id] = struct{}{}
	}
	s.mu.Lock()
	if s.grants[account] == nil {
		s.grants[account] = map[types.ManagedObjectReference]privileges{}
	}
	s.grants[account][entity] = role
	s.mu.Unlock()
	s.touch(types.ManagedObjectReference{})
}

// Withhold removes single privileges of the account on the entity and its descendants.
func (s *Sight) Withhold(account string, entity types.ManagedObjectReference, ids ...string) {
	left := s.Privileges(account, entity)
	s.Permit(account, entity, slices.DeleteFunc(left, func(id string) bool { return slices.Contains(ids, id) })...)
}

// Unpermit removes the permission on the entity, so that inherited permissions are effective again.
func (s *Sight) Unpermit(account string, entity types.ManagedObjectReference) {
	s.mu.Lock()
	delete(s.grants[account], entity)
	s.mu.Unlock()
	s.touch(types.ManagedObjectReference{})
}

// role returns the role of the account on the entity. Accounts without a permission are administrators.
func (s *Sight) role(account string, entity types.ManagedObjectReference) privileges {
	s.mu.Lock()
	grants := maps.Clone(s.grants[account])
	s.mu.Unlock()
	for len(grants) != 0 {
		if role, ok := grants[entity]; ok {
			return role
		}
		e, ok := s.registry.Get(entity).(mo.Entity)
		if !ok || e.Entity().Parent == nil {
			break
		}
		entity = *e.Entity().Parent
	}
	return nil
}

// Allowed reports whether the account has the privilege on the object. Objects that are not entities, such as
// managers and session objects, are allowed for every account.
func (s *Sight) Allowed(account string, ref types.ManagedObjectReference, id string) bool {
	role := s.role(account, ref)
	if role == nil {
		return true
	}
	_, ok := role[id]
	return ok
}

// Privileges lists the privileges of the account on the entity.
func (s *Sight) Privileges(account string, entity types.ManagedObjectReference) []string {
	if role := s.role(account, entity); role != nil {
		return slices.Sorted(maps.Keys(role))
	}
	return All()
}

// All are the privileges of the Administrator: the host privileges that the simulator knows, and vCenter's privileges
// for managing virtual machines.
func All() []string {
	all := map[string]struct{}{}
	for _, role := range esx.RoleList {
		for _, id := range role.Privilege {
			all[id] = struct{}{}
		}
	}
	for _, id := range []string{
		"ContentLibrary.ReadStorage", "ContentLibrary.DownloadSession", "ContentLibrary.GetConfiguration",
		"ContentLibrary.TypeIntrospection", "Cryptographer.EncryptNew", "Cryptographer.AddDisk", "Cryptographer.Access",
		"Cryptographer.Clone", "Cryptographer.RegisterHost", "Cryptographer.Encrypt", "Cryptographer.ReadKeyServersInfo", "Cryptographer.ManageKeyServers",
		"StorageProfile.View", "StorageProfile.Update", "Cns.Searchable",
		"VApp.Import", "VApp.ApplicationConfig", "VApp.Create", "Network.Assign", "Resource.AssignVMToPool",
		"VirtualMachine.Inventory.Move", "VirtualMachine.Inventory.Register", "VirtualMachine.Inventory.Unregister",
		"VirtualMachine.Inventory.CreateFromExisting", "VirtualMachine.Provisioning.DeployTemplate",
		"VirtualMachine.Provisioning.Clone", "VirtualMachine.Provisioning.Customize",
	} {
		all[id] = struct{}{}
	}
	return slices.Sorted(maps.Keys(all))
}
