// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"fmt"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Role identifies one of the two references of a virtual machine.
type Role string

const (
	// RoleInstancetype is spec.instancetype and status.instancetypeRef.
	RoleInstancetype Role = "instancetype"
	// RolePreference is spec.preference and status.preferenceRef.
	RolePreference Role = "preference"
)

// matcherName returns the name of the reference in KubeVirt's messages.
func (r Role) matcherName() string {
	if r == RolePreference {
		return "PreferenceMatcher"
	}
	return "InstancetypeMatcher"
}

// noun returns the name of the referenced object in messages.
func (r Role) noun() string {
	if r == RolePreference {
		return "preference"
	}
	return "instance type"
}

// Kind is a kind of instance type or preference in canonical form: lower case, singular.
type Kind string

const (
	// KindInstancetype is an instance type in the VM's namespace.
	KindInstancetype Kind = "virtualmachineinstancetype"
	// KindClusterInstancetype is a cluster-scoped instance type.
	KindClusterInstancetype Kind = "virtualmachineclusterinstancetype"
	// KindPreference is a preference in the VM's namespace.
	KindPreference Kind = "virtualmachinepreference"
	// KindClusterPreference is a cluster-scoped preference.
	KindClusterPreference Kind = "virtualmachineclusterpreference"
)

var typeNames = map[Kind]string{
	KindInstancetype:        "VirtualMachineInstancetype",
	KindClusterInstancetype: "VirtualMachineClusterInstancetype",
	KindPreference:          "VirtualMachinePreference",
	KindClusterPreference:   "VirtualMachineClusterPreference",
}

// Namespaced reports whether objects of this kind are namespaced.
func (k Kind) Namespaced() bool { return k == KindInstancetype || k == KindPreference }

// Role returns the role of this kind.
func (k Kind) Role() Role {
	if k == KindPreference || k == KindClusterPreference {
		return RolePreference
	}
	return RoleInstancetype
}

// Resource returns the plural name, as in URLs and RBAC rules.
func (k Kind) Resource() string { return string(k) + "s" }

// TypeName returns the kind as in manifests, for example VirtualMachineInstancetype.
func (k Kind) TypeName() string { return typeNames[k] }

// KindError is returned if a reference has a kind that its role does not support.
type KindError struct {
	// Role of the reference.
	Role Role
	// Kind is the specified kind.
	Kind string
}

// Error implements error.
func (e *KindError) Error() string {
	names := "VirtualMachineInstancetype, VirtualMachineClusterInstancetype"
	if e.Role == RolePreference {
		names = "VirtualMachinePreference, VirtualMachineClusterPreference"
	}
	return fmt.Sprintf("got unexpected kind in %s: %s: allowed are %s", e.Role.matcherName(), e.Kind, names)
}

// ParseKind returns the canonical form of kind, which may be singular or plural and in any letter case. If kind is
// empty, it returns the cluster-scoped kind of the role. The error is a *KindError.
func ParseKind(role Role, kind string) (Kind, error) {
	namespaced, cluster := KindInstancetype, KindClusterInstancetype
	if role == RolePreference {
		namespaced, cluster = KindPreference, KindClusterPreference
	}
	switch name := strings.ToLower(kind); name {
	case "", string(cluster), cluster.Resource():
		return cluster, nil
	case string(namespaced), namespaced.Resource():
		return namespaced, nil
	default:
		return "", &KindError{Role: role, Kind: kind}
	}
}

// matcher returns the reference of role in spec, or nil. The two matcher types have the same fields.
func matcher(spec *vmv1alpha1.VirtualMachineSpec, role Role) *vmv1alpha1.InstancetypeMatcher {
	if role == RolePreference {
		return (*vmv1alpha1.InstancetypeMatcher)(spec.Preference)
	}
	return spec.Instancetype
}

// StatusRef returns the reference of role in vm's status, or nil. Both reference types have the same fields, so both
// are returned as an InstancetypeRef. The result is shared with vm.
func StatusRef(vm *vmv1alpha1.VirtualMachine, role Role) *vmv1alpha1.InstancetypeRef {
	if role == RolePreference {
		return (*vmv1alpha1.InstancetypeRef)(vm.Status.PreferenceRef)
	}
	return vm.Status.InstancetypeRef
}

// SetStatusRef sets the reference of role in vm's status. nil removes it.
func SetStatusRef(vm *vmv1alpha1.VirtualMachine, role Role, ref *vmv1alpha1.InstancetypeRef) {
	if role == RolePreference {
		vm.Status.PreferenceRef = (*vmv1alpha1.PreferenceRef)(ref)
		return
	}
	vm.Status.InstancetypeRef = ref
}

// pinnedName returns the name of the revision in a matcher, or an empty string. The deprecated field is used if the
// other one is not set.
func pinnedName(m *vmv1alpha1.InstancetypeMatcher) string {
	if m.ControllerRevisionRef != nil && m.ControllerRevisionRef.Name != "" {
		return m.ControllerRevisionRef.Name
	}
	return m.RevisionName
}

// unpin removes the revision from a matcher.
func unpin(m *vmv1alpha1.InstancetypeMatcher) {
	m.ControllerRevisionRef, m.RevisionName = nil, ""
}
