// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package standard

import (
	"context"
	"fmt"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/slipway-dev/slipway/pkg/registry/table"
)

// Scale describes the replicas of the kind T.
type Scale[T runtime.Object] struct {
	// Desired returns the address of spec.replicas.
	Desired func(T) **int32
	// Observed returns the current number of replicas, or nil if it is unknown.
	Observed func(T) *int32
	// Selector returns the selector of the replicas.
	Selector func(T) (labels.Selector, error)
}

// ScaleREST is the scale endpoint of a kind. Its users, such as autoscalers, need no other permission for the object.
type ScaleREST[T runtime.Object] struct {
	store *genericregistry.Store
	kind  Kind[T]
	rest.TableConvertor
}

var (
	_ rest.Patcher                  = &ScaleREST[runtime.Object]{}
	_ rest.GroupVersionKindProvider = &ScaleREST[runtime.Object]{}
	_ rest.TableConvertor           = &ScaleREST[runtime.Object]{}
)

// NewScaleREST returns the scale endpoint of a kind that has one. It uses the store of the main endpoint.
func NewScaleREST[T runtime.Object](main *REST, kind Kind[T]) *ScaleREST[T] {
	type column = table.Column[*autoscalingv1.Scale]
	return &ScaleREST[T]{store: main.Store, kind: kind, TableConvertor: table.New(
		column{Name: "Desired", Type: "integer", Description: "Desired number of replicas.", Value: func(s *autoscalingv1.Scale) any { return int64(s.Spec.Replicas) }},
		column{Name: "Available", Type: "integer", Description: "Current number of replicas.", Value: func(s *autoscalingv1.Scale) any { return int64(s.Status.Replicas) }},
	)}
}

// GroupVersionKind returns the kind Scale.
func (*ScaleREST[T]) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// New returns an empty scale.
func (*ScaleREST[T]) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy does nothing, because the main endpoint owns the store.
func (*ScaleREST[T]) Destroy() {}

// Get returns the scale of an object.
func (r *ScaleREST[T]) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.scale(obj)
}

// Update changes only the desired number of replicas. The rules of the main endpoint apply.
func (r *ScaleREST[T]) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	// Admission gets the scale, because the request is for the scale subresource.
	admit := func(ctx context.Context, obj, old runtime.Object) error {
		if update == nil {
			return nil
		}
		updated, err := r.scale(obj)
		if err != nil {
			return err
		}
		stored, err := r.scale(old)
		if err != nil {
			return err
		}
		return update(ctx, updated, stored)
	}
	obj, _, err := r.store.Update(ctx, name, &scaledObject[T]{UpdatedObjectInfo: WithChecks(info, r.New()), of: r}, create, admit, false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.scale(obj)
	return scale, false, err
}

// scale returns the scale of obj.
func (r *ScaleREST[T]) scale(obj runtime.Object) (*autoscalingv1.Scale, error) {
	o, ok := obj.(T)
	if !ok {
		return nil, fmt.Errorf("reading the scale of %s: the store has a %T", r.kind.Plural, obj)
	}
	selector, err := r.kind.Scale.Selector(o)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of %s %q: %w", r.kind.Singular, metaOf(o).GetName(), err)
	}
	m := metaOf(o)
	scale := &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.GetName(), Namespace: m.GetNamespace(), UID: m.GetUID(), ResourceVersion: m.GetResourceVersion(), CreationTimestamp: m.GetCreationTimestamp(),
		},
		Status: autoscalingv1.ScaleStatus{Selector: selector.String()},
	}
	if wanted := *r.kind.Scale.Desired(o); wanted != nil {
		scale.Spec.Replicas = *wanted
	}
	if observed := r.kind.Scale.Observed(o); observed != nil {
		scale.Status.Replicas = *observed
	}
	return scale, nil
}

// scaledObject applies an update of a scale to the object.
type scaledObject[T runtime.Object] struct {
	rest.UpdatedObjectInfo
	of *ScaleREST[T]
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (s *scaledObject[T]) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	before, err := s.of.scale(old)
	if err != nil {
		return nil, err
	}
	// The owners of spec.replicas are the same for the main endpoint and for the scale endpoint.
	version := s.of.kind.Version
	owners := managedfields.NewScaleHandler(metaOf(old).GetManagedFields(), versionOf(version),
		managedfields.ResourcePathMappings{version: fieldpath.MakePathOrDie("spec", "replicas")})
	if before.ManagedFields, err = owners.ToSubresource(); err != nil {
		return nil, fmt.Errorf("reading the owners of spec.replicas of %s %q: %w", s.of.kind.Singular, before.Name, err)
	}
	obj, err := s.UpdatedObjectInfo.UpdatedObject(ctx, before)
	if err != nil {
		return nil, err
	}
	scale, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("scale requires a Scale, not a %T", obj))
	}
	updated := old.DeepCopyObject().(T)
	m := metaOf(updated)
	if scale.UID != "" && scale.UID != m.GetUID() {
		return nil, apierrors.NewConflict(s.of.kind.Plural, before.Name, fmt.Errorf("metadata.uid is %s, but the object has %s", scale.UID, m.GetUID()))
	}
	if scale.ResourceVersion != "" {
		m.SetResourceVersion(scale.ResourceVersion)
	}
	replicas := scale.Spec.Replicas
	*s.of.kind.Scale.Desired(updated) = &replicas
	entries, err := owners.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, fmt.Errorf("recording the owners of spec.replicas of %s %q: %w", s.of.kind.Singular, before.Name, err)
	}
	m.SetManagedFields(entries)
	return updated, nil
}

// versionOf parses a group and version, which is a constant of the program.
func versionOf(version string) schema.GroupVersion {
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		panic(err)
	}
	return gv
}
