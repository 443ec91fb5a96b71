// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
)

// Object is an instance type or a preference, either cluster-scoped or namespaced, and either a live object or from a
// revision. It shares data with its source and must not be changed.
type Object struct {
	// Kind is the canonical kind.
	Kind Kind
	// Meta is the metadata of the object.
	Meta metav1.ObjectMeta
	// Instancetype is set if the role of Kind is RoleInstancetype.
	Instancetype *itv1alpha1.VirtualMachineInstancetypeSpec
	// Preference is set if the role of Kind is RolePreference.
	Preference *itv1alpha1.VirtualMachinePreferenceSpec
}

// FromInstancetype returns the Object of a namespaced instance type.
func FromInstancetype(in *itv1alpha1.VirtualMachineInstancetype) *Object {
	return &Object{Kind: KindInstancetype, Meta: in.ObjectMeta, Instancetype: &in.Spec}
}

// FromClusterInstancetype returns the Object of a cluster instance type.
func FromClusterInstancetype(in *itv1alpha1.VirtualMachineClusterInstancetype) *Object {
	return &Object{Kind: KindClusterInstancetype, Meta: in.ObjectMeta, Instancetype: &in.Spec}
}

// FromPreference returns the Object of a namespaced preference.
func FromPreference(in *itv1alpha1.VirtualMachinePreference) *Object {
	return &Object{Kind: KindPreference, Meta: in.ObjectMeta, Preference: &in.Spec}
}

// FromClusterPreference returns the Object of a cluster preference.
func FromClusterPreference(in *itv1alpha1.VirtualMachineClusterPreference) *Object {
	return &Object{Kind: KindClusterPreference, Meta: in.ObjectMeta, Preference: &in.Spec}
}

// Getters has one function per kind of source.
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

// Source implements the method of Reader. It ignores the namespace for cluster kinds.
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
	return nil, fmt.Errorf("reading %q: %q is not a kind of instance type or preference", name, kind)
}

func object[T any](o T, err error, from func(T) *Object) (*Object, error) {
	if err != nil {
		return nil, err
	}
	return from(o), nil
}

// identity identifies an object.
type identity struct {
	kind Kind
	name string
}

func (o *Object) identity() identity { return identity{kind: o.Kind, name: o.Meta.Name} }
