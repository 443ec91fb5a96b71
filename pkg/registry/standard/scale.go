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

// Scale says where an object of the kind T has how many it shall have of something, which is
// in spec.replicas, and what it has.
type Scale[T runtime.Object] struct {
	// Wanted is the place of spec.replicas.
	Wanted func(T) **int32
	// Observed is how many there are, nil if that is not known.
	Observed func(T) *int32
	// Selector selects what is counted.
	Selector func(T) (labels.Selector, error)
}

// ScaleREST is the scale endpoint of a kind: kubectl scale and autoscalers use it, who need no
// other right on the object.
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

// NewScaleREST makes the scale endpoint of a kind that has one, over the store of its main
// endpoint.
func NewScaleREST[T runtime.Object](main *REST, kind Kind[T]) *ScaleREST[T] {
	type column = table.Column[*autoscalingv1.Scale]
	return &ScaleREST[T]{store: main.Store, kind: kind, TableConvertor: table.New(
		column{Name: "Desired", Type: "integer", Description: "How many are wanted.", Value: func(s *autoscalingv1.Scale) any { return int64(s.Spec.Replicas) }},
		column{Name: "Available", Type: "integer", Description: "How many there are.", Value: func(s *autoscalingv1.Scale) any { return int64(s.Status.Replicas) }},
	)}
}

// GroupVersionKind is that of a scale, whatever kind is scaled.
func (*ScaleREST[T]) GroupVersionKind(schema.GroupVersion) schema.GroupVersionKind {
	return autoscalingv1.SchemeGroupVersion.WithKind("Scale")
}

// New returns an empty scale.
func (*ScaleREST[T]) New() runtime.Object { return &autoscalingv1.Scale{} }

// Destroy does nothing: the main endpoint owns the store.
func (*ScaleREST[T]) Destroy() {}

// Get reads the scale of an object.
func (r *ScaleREST[T]) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := r.store.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	return r.scale(obj)
}

// Update changes how many are wanted, by the rules of the main endpoint, and nothing else.
func (r *ScaleREST[T]) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	// What is admitted is the scale: of the request, which is about no other object.
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
	obj, _, err := r.store.Update(ctx, name, &scaled[T]{UpdatedObjectInfo: Checked(info, r.New()), of: r}, create, admit, false, options)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.scale(obj)
	return scale, false, err
}

// scale is that of obj.
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
	if wanted := *r.kind.Scale.Wanted(o); wanted != nil {
		scale.Spec.Replicas = *wanted
	}
	if observed := r.kind.Scale.Observed(o); observed != nil {
		scale.Status.Replicas = *observed
	}
	return scale, nil
}

// scaled makes of what a request does to the scale of an object what it does to the object.
type scaled[T runtime.Object] struct {
	rest.UpdatedObjectInfo
	of *ScaleREST[T]
}

// UpdatedObject returns the object as the request wants it.
func (s *scaled[T]) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	before, err := s.of.scale(old)
	if err != nil {
		return nil, err
	}
	// Who set spec.replicas by the main endpoint has set it here, and the other way round.
	version := s.of.kind.Version
	owners := managedfields.NewScaleHandler(metaOf(old).GetManagedFields(), versionOf(version),
		managedfields.ResourcePathMappings{version: fieldpath.MakePathOrDie("spec", "replicas")})
	if before.ManagedFields, err = owners.ToSubresource(); err != nil {
		return nil, fmt.Errorf("reading who owns spec.replicas of %s %q: %w", s.of.kind.Singular, before.Name, err)
	}
	obj, err := s.UpdatedObjectInfo.UpdatedObject(ctx, before)
	if err != nil {
		return nil, err
	}
	scale, ok := obj.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("scale takes a Scale, not %T", obj))
	}
	updated := old.DeepCopyObject().(T)
	m := metaOf(updated)
	if scale.UID != "" && scale.UID != m.GetUID() {
		return nil, apierrors.NewConflict(s.of.kind.Plural, before.Name, fmt.Errorf("metadata.uid is %s, that of the object is %s", scale.UID, m.GetUID()))
	}
	if scale.ResourceVersion != "" {
		m.SetResourceVersion(scale.ResourceVersion)
	}
	replicas := scale.Spec.Replicas
	*s.of.kind.Scale.Wanted(updated) = &replicas
	entries, err := owners.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, fmt.Errorf("recording who owns spec.replicas of %s %q: %w", s.of.kind.Singular, before.Name, err)
	}
	m.SetManagedFields(entries)
	return updated, nil
}

// versionOf reads a version of a kind, which is a constant of the program.
func versionOf(version string) schema.GroupVersion {
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		panic(err)
	}
	return gv
}
