// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
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

// Getters read each kind of source; together they read any.
type Getters struct {
	// Instancetype reads a VirtualMachineInstancetype.
	Instancetype func(ctx context.Context, namespace, name string) (*itv1alpha1.VirtualMachineInstancetype, error)
	// ClusterInstancetype reads a VirtualMachineClusterInstancetype.
	ClusterInstancetype func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterInstancetype, error)
	// Preference reads a VirtualMachinePreference.
	Preference func(ctx context.Context, namespace, name string) (*itv1alpha1.VirtualMachinePreference, error)
	// ClusterPreference reads a VirtualMachineClusterPreference.
	ClusterPreference func(ctx context.Context, name string) (*itv1alpha1.VirtualMachineClusterPreference, error)
}

// Source reads the object of kind, as Reader has it. The namespace is ignored for the
// cluster kinds.
func (g Getters) Source(ctx context.Context, kind Kind, namespace, name string) (*Object, error) {
	switch kind {
	case KindInstancetype:
		o, err := g.Instancetype(ctx, namespace, name)
		return object(o, err, FromInstancetype)
	case KindClusterInstancetype:
		o, err := g.ClusterInstancetype(ctx, name)
		return object(o, err, FromClusterInstancetype)
	case KindPreference:
		o, err := g.Preference(ctx, namespace, name)
		return object(o, err, FromPreference)
	case KindClusterPreference:
		o, err := g.ClusterPreference(ctx, name)
		return object(o, err, FromClusterPreference)
	}
	return nil, fmt.Errorf("reading %q: %q is not the kind of an instance type or a preference", name, kind)
}

func object[T any](o T, err error, from func(T) *Object) (*Object, error) {
	if err != nil {
		return nil, err
	}
	return from(o), nil
}

// identity says which object a reference means.
type identity struct {
	kind Kind
	name string
}

func (o *Object) identity() identity { return identity{kind: o.Kind, name: o.Meta.Name} }
