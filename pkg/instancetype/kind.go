// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"fmt"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Role says which of the two references of a virtual machine is meant.
type Role string

const (
	// RoleInstancetype is spec.instancetype and status.instancetypeRef.
	RoleInstancetype Role = "instancetype"
	// RolePreference is spec.preference and status.preferenceRef.
	RolePreference Role = "preference"
)

// matcherName is how KubeVirt's messages call the reference.
func (r Role) matcherName() string {
	if r == RolePreference {
		return "PreferenceMatcher"
	}
	return "InstancetypeMatcher"
}

// noun is how messages call what is referred to.
func (r Role) noun() string {
	if r == RolePreference {
		return "preference"
	}
	return "instance type"
}

// Kind is a kind of instance type or preference in canonical form: lower case,
// singular.
type Kind string

const (
	// KindInstancetype is an instance type of the namespace of the VM.
	KindInstancetype Kind = "virtualmachineinstancetype"
	// KindClusterInstancetype is an instance type of the cluster.
	KindClusterInstancetype Kind = "virtualmachineclusterinstancetype"
	// KindPreference is a preference of the namespace of the VM.
	KindPreference Kind = "virtualmachinepreference"
	// KindClusterPreference is a preference of the cluster.
	KindClusterPreference Kind = "virtualmachineclusterpreference"
)

var typeNames = map[Kind]string{
	KindInstancetype:        "VirtualMachineInstancetype",
	KindClusterInstancetype: "VirtualMachineClusterInstancetype",
	KindPreference:          "VirtualMachinePreference",
	KindClusterPreference:   "VirtualMachineClusterPreference",
}

// Namespaced reports whether objects of this kind live in namespaces.
func (k Kind) Namespaced() bool { return k == KindInstancetype || k == KindPreference }

// Role returns the role in which a VM refers to this kind.
func (k Kind) Role() Role {
	if k == KindPreference || k == KindClusterPreference {
		return RolePreference
	}
	return RoleInstancetype
}

// Resource returns the plural, as in URLs and RBAC rules.
func (k Kind) Resource() string { return string(k) + "s" }

// TypeName returns the kind as objects spell it, for example
// VirtualMachineInstancetype.
func (k Kind) TypeName() string { return typeNames[k] }

// KindError means that a reference has a kind that its role does not know.
type KindError struct {
	// Role of the reference.
	Role Role
	// Kind as given.
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

// ParseKind returns the canonical form of kind, which may be singular or plural
// and in any letter case. Empty means the cluster kind of the role. The error
// is a *KindError.
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

// matcher returns the reference of vm in role, nil when there is none. The two
// matcher types have the same fields.
func matcher(spec *vmv1alpha1.VirtualMachineSpec, role Role) *vmv1alpha1.InstancetypeMatcher {
	if role == RolePreference {
		return (*vmv1alpha1.InstancetypeMatcher)(spec.Preference)
	}
	return spec.Instancetype
}

// StatusRef returns the status reference of vm in role, nil when there is none.
// The two reference types have the same fields, so both are answered as an
// InstancetypeRef; the result is shared with vm.
func StatusRef(vm *vmv1alpha1.VirtualMachine, role Role) *vmv1alpha1.InstancetypeRef {
	if role == RolePreference {
		return (*vmv1alpha1.InstancetypeRef)(vm.Status.PreferenceRef)
	}
	return vm.Status.InstancetypeRef
}

// SetStatusRef sets the status reference of vm in role; nil removes it.
func SetStatusRef(vm *vmv1alpha1.VirtualMachine, role Role, ref *vmv1alpha1.InstancetypeRef) {
	if role == RolePreference {
		vm.Status.PreferenceRef = (*vmv1alpha1.PreferenceRef)(ref)
		return
	}
	vm.Status.InstancetypeRef = ref
}

// pin returns the name of the revision that a matcher pins, "" when it pins
// none. The deprecated field counts when the other is not set.
func pin(m *vmv1alpha1.InstancetypeMatcher) string {
	if m.ControllerRevisionRef != nil && m.ControllerRevisionRef.Name != "" {
		return m.ControllerRevisionRef.Name
	}
	return m.RevisionName
}

// unpin removes the pin of a matcher.
func unpin(m *vmv1alpha1.InstancetypeMatcher) {
	m.ControllerRevisionRef, m.RevisionName = nil, ""
}
