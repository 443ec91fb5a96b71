// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Object is an instance type or a preference, of the cluster or of a namespace,
// live or out of a revision. It shares its parts with what it was made from and
// must not be changed.
type Object struct {
	// Kind is canonical.
	Kind Kind
	// Meta is the metadata of the object.
	Meta metav1.ObjectMeta
	// Instancetype is set when the role of Kind is RoleInstancetype.
	Instancetype *itv1alpha1.VirtualMachineInstancetypeSpec
	// Preference is set when the role of Kind is RolePreference.
	Preference *itv1alpha1.VirtualMachinePreferenceSpec
}

// FromInstancetype makes an Object of a namespaced instance type.
func FromInstancetype(in *itv1alpha1.VirtualMachineInstancetype) *Object {
	return &Object{Kind: KindInstancetype, Meta: in.ObjectMeta, Instancetype: &in.Spec}
}

// FromClusterInstancetype makes an Object of a cluster instance type.
func FromClusterInstancetype(in *itv1alpha1.VirtualMachineClusterInstancetype) *Object {
	return &Object{Kind: KindClusterInstancetype, Meta: in.ObjectMeta, Instancetype: &in.Spec}
}

// FromPreference makes an Object of a namespaced preference.
func FromPreference(in *itv1alpha1.VirtualMachinePreference) *Object {
	return &Object{Kind: KindPreference, Meta: in.ObjectMeta, Preference: &in.Spec}
}

// FromClusterPreference makes an Object of a cluster preference.
func FromClusterPreference(in *itv1alpha1.VirtualMachineClusterPreference) *Object {
	return &Object{Kind: KindClusterPreference, Meta: in.ObjectMeta, Preference: &in.Spec}
}

// Reader reads what virtual machines refer to. Every method returns an error
// that apierrors.IsNotFound recognises when, and only when, the object is known
// to be absent. Results are not changed. A revision that was just created must
// be visible: a cache is read through to the API.
type Reader interface {
	// Source returns a live instance type or preference. The namespace is empty
	// for the cluster kinds.
	Source(kind Kind, namespace, name string) (*Object, error)
	// Revision returns a ControllerRevision.
	Revision(namespace, name string) (*appsv1.ControllerRevision, error)
	// Class returns a class.
	Class(namespace, name string) (*vmv1alpha1.VirtualMachineClass, error)
	// Image returns an image; its labels are read.
	Image(namespace, name string) (*vmv1alpha1.VirtualMachineImage, error)
	// PersistentVolumeClaim returns a claim; its labels and dataSourceRef are read.
	PersistentVolumeClaim(namespace, name string) (*corev1.PersistentVolumeClaim, error)
}

// identity says which object a reference means.
type identity struct {
	kind Kind
	name string
}

func (o *Object) identity() identity { return identity{kind: o.Kind, name: o.Meta.Name} }

// sourceNamespace is the namespace in which an object of kind is looked up for
// vm: its own, or none.
func sourceNamespace(kind Kind, vm *vmv1alpha1.VirtualMachine) string {
	if kind.Namespaced() {
		return vm.Namespace
	}
	return ""
}
