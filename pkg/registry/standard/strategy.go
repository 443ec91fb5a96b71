// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package standard

import (
	"context"
	"maps"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
)

// Strategy is the strategy of the main endpoint of T.
type Strategy[T runtime.Object] struct {
	runtime.ObjectTyper
	names.NameGenerator
	kind Kind[T]
}

var (
	_ rest.RESTCreateStrategy  = Strategy[runtime.Object]{}
	_ rest.RESTUpdateStrategy  = Strategy[runtime.Object]{}
	_ rest.RESTDeleteStrategy  = Strategy[runtime.Object]{}
	_ rest.ResetFieldsStrategy = Strategy[runtime.Object]{}
	_ rest.RESTUpdateStrategy  = StatusStrategy[runtime.Object]{}
	_ rest.ResetFieldsStrategy = StatusStrategy[runtime.Object]{}
	_ rest.RESTUpdateStrategy  = PartStrategy[runtime.Object]{}
)

// NewStrategy returns the strategy of the main endpoint of kind.
func NewStrategy[T runtime.Object](typer runtime.ObjectTyper, kind Kind[T]) Strategy[T] {
	return Strategy[T]{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind}
}

// NamespaceScoped reports whether the kind is namespaced.
func (s Strategy[T]) NamespaceScoped() bool { return s.kind.Namespaced }

// AllowCreateOnUpdate returns false, because a PUT never creates an object.
func (Strategy[T]) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate returns false, because a PUT requires a resource version.
func (Strategy[T]) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize does nothing.
func (Strategy[T]) Canonicalize(runtime.Object) {}

// GetResetFields returns the fields that the main endpoint ignores.
func (s Strategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if s.kind.Status == nil {
		return nil
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.kind.Version): fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

// PrepareForCreate clears status and sets generation to 1, unless the object is recreated after the store was lost.
func (s Strategy[T]) PrepareForCreate(_ context.Context, obj runtime.Object) {
	created := obj.(T)
	if s.kind.Remake == nil || !s.kind.Remake(created) {
		if s.kind.Status != nil {
			s.kind.Status.Drop(created)
		}
		metaOf(created).SetGeneration(1)
	}
	if s.kind.PrepareForCreate != nil {
		s.kind.PrepareForCreate(created)
	}
}

// PrepareForUpdate restores the stored status and increments generation if spec changed.
func (s Strategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(T), old.(T)
	if s.kind.Status != nil {
		s.kind.Status.Keep(updated, stored)
	}
	if s.kind.PrepareForUpdate != nil {
		s.kind.PrepareForUpdate(updated, stored)
	}
	s.updateGeneration(updated, stored)
}

// updateGeneration increments generation if spec changed.
func (s Strategy[T]) updateGeneration(updated, stored T) {
	if !apiequality.Semantic.DeepEqual(s.kind.Spec(updated), s.kind.Spec(stored)) {
		metaOf(updated).SetGeneration(metaOf(stored).GetGeneration() + 1)
	}
}

// Validate returns the errors of a new object.
func (s Strategy[T]) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	created := obj.(T)
	errs := bounds.Meta(metaOf(created), nil, field.NewPath("metadata"))
	if version := metaOf(created).GetResourceVersion(); version != "" {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "resourceVersion"), "must not be set for a new object"))
	}
	if s.kind.Derived {
		errs = append(errs, bounds.Quantities(created)...)
	} else {
		errs = append(errs, bounds.Spec(s.kind.Spec(created), field.NewPath("spec"))...)
	}
	if len(errs) > 0 {
		return errs // Do not validate objects that exceed limits.
	}
	return bounds.Cut(s.kind.Validate(created))
}

// ValidateUpdate returns the errors of an updated object. An unchanged spec may exceed limits that were lowered
// later.
func (s Strategy[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	updated, stored := obj.(T), old.(T)
	errs := bounds.Meta(metaOf(updated), metaOf(stored), field.NewPath("metadata"))
	if spec := s.kind.Spec(updated); !s.kind.Derived && !apiequality.Semantic.DeepEqual(spec, s.kind.Spec(stored)) {
		errs = append(errs, bounds.Spec(spec, field.NewPath("spec"))...)
	}
	if len(errs) > 0 {
		return errs
	}
	return bounds.Cut(s.kind.ValidateUpdate(updated, stored))
}

// WarningsOnCreate returns warnings about fields that have no effect or are deprecated.
func (s Strategy[T]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if s.kind.Warnings == nil {
		return nil
	}
	return s.kind.Warnings(obj.(T))
}

// WarningsOnUpdate returns the same warnings as WarningsOnCreate.
func (s Strategy[T]) WarningsOnUpdate(ctx context.Context, obj, _ runtime.Object) []string {
	return s.WarningsOnCreate(ctx, obj)
}

// StatusStrategy is the strategy of the status endpoint of T.
type StatusStrategy[T runtime.Object] struct{ Strategy[T] }

// GetResetFields returns the fields that the status endpoint ignores.
func (s StatusStrategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(s.kind.Version): fieldpath.NewSet(
		fieldpath.MakePathOrDie("spec"),
		fieldpath.MakePathOrDie("metadata", "labels"),
		fieldpath.MakePathOrDie("metadata", "annotations"),
		fieldpath.MakePathOrDie("metadata", "finalizers"),
		fieldpath.MakePathOrDie("metadata", "ownerReferences"),
		fieldpath.MakePathOrDie("metadata", "deletionTimestamp"),
	)}
}

// PrepareForUpdate restores everything except status.
func (s StatusStrategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(T), old.(T)
	s.kind.Status.KeepSpec(updated, stored)
	metav1.ResetObjectMetaForStatus(metaOf(updated), metaOf(stored))
}

// ValidateUpdate returns the errors of an updated status.
func (s StatusStrategy[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return bounds.Cut(s.kind.Status.Validate(obj.(T), old.(T)))
}

// WarningsOnUpdate returns nil, because a status update cannot change spec.
func (StatusStrategy[T]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// PartStrategy is the strategy of a subresource that changes a part of T.
type PartStrategy[T runtime.Object] struct {
	Strategy[T]
	part        func(obj, stored T)
	annotations []string
}

// NewPartStrategy returns the strategy of a subresource. part modifies obj, which the client sent, so that only the
// allowed changes of spec and status remain. Metadata is not changed, except the given annotations, which can be set.
func NewPartStrategy[T runtime.Object](typer runtime.ObjectTyper, kind Kind[T], part func(obj, stored T), annotations ...string) PartStrategy[T] {
	return PartStrategy[T]{Strategy: NewStrategy(typer, kind), part: part, annotations: annotations}
}

// PrepareForUpdate restores everything except the part, and increments generation if spec changed.
func (s PartStrategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(T), old.(T)
	sent := metaOf(updated).GetAnnotations()
	s.part(updated, stored)
	metav1.ResetObjectMetaForStatus(metaOf(updated), metaOf(stored))
	for _, key := range s.annotations {
		if value, set := sent[key]; set {
			kept := maps.Clone(metaOf(updated).GetAnnotations())
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
			metaOf(updated).SetAnnotations(kept)
		}
	}
	s.updateGeneration(updated, stored)
}

// WarningsOnUpdate returns nil, because the client cannot change the fields that warnings are about.
func (PartStrategy[T]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// metaOf returns the metadata of obj. Every stored kind has metadata.
func metaOf(obj runtime.Object) metav1.Object {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err) // a kind without metadata cannot be stored in the first place
	}
	return accessor
}
