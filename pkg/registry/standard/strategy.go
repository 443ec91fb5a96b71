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

// Strategy is the behaviour of the main endpoint of T.
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

// NewStrategy returns the behaviour of the main endpoint of kind.
func NewStrategy[T runtime.Object](typer runtime.ObjectTyper, kind Kind[T]) Strategy[T] {
	return Strategy[T]{ObjectTyper: typer, NameGenerator: names.SimpleNameGenerator, kind: kind}
}

// NamespaceScoped says whether objects are in namespaces.
func (s Strategy[T]) NamespaceScoped() bool { return s.kind.Namespaced }

// AllowCreateOnUpdate is false: a PUT never creates.
func (Strategy[T]) AllowCreateOnUpdate(context.Context) bool { return false }

// AllowUnconditionalUpdate is false: a PUT names the version that it replaces.
func (Strategy[T]) AllowUnconditionalUpdate(context.Context) bool { return false }

// Canonicalize changes nothing.
func (Strategy[T]) Canonicalize(runtime.Object) {}

// GetResetFields names what the main endpoint ignores.
func (s Strategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	if s.kind.Status == nil {
		return nil
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{
		fieldpath.APIVersion(s.kind.Version): fieldpath.NewSet(fieldpath.MakePathOrDie("status")),
	}
}

// PrepareForCreate drops status and starts counting generations, unless the object is one
// that is made again.
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

// PrepareForUpdate keeps the stored status and counts changes of spec.
func (s Strategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(T), old.(T)
	if s.kind.Status != nil {
		s.kind.Status.Keep(updated, stored)
	}
	if s.kind.PrepareForUpdate != nil {
		s.kind.PrepareForUpdate(updated, stored)
	}
	s.count(updated, stored)
}

// count counts changes of spec.
func (s Strategy[T]) count(updated, stored T) {
	if !apiequality.Semantic.DeepEqual(s.kind.Spec(updated), s.kind.Spec(stored)) {
		metaOf(updated).SetGeneration(metaOf(stored).GetGeneration() + 1)
	}
}

// Validate refuses what cannot be created.
func (s Strategy[T]) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	created := obj.(T)
	errs := bounds.Meta(metaOf(created), nil, field.NewPath("metadata"))
	if version := metaOf(created).GetResourceVersion(); version != "" {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "resourceVersion"), "an object that is created has none"))
	}
	if s.kind.Derived {
		errs = append(errs, bounds.Quantities(created)...)
	} else {
		errs = append(errs, bounds.Spec(s.kind.Spec(created), field.NewPath("spec"))...)
	}
	if len(errs) > 0 {
		return errs // What has no bounds is not looked at any further.
	}
	return bounds.Cut(s.kind.Validate(created))
}

// ValidateUpdate refuses what cannot become of the stored object. A spec that did not
// change keeps what it has, also after a bound became narrower.
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

// WarningsOnCreate names what has no effect or is deprecated.
func (s Strategy[T]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	if s.kind.Warnings == nil {
		return nil
	}
	return s.kind.Warnings(obj.(T))
}

// WarningsOnUpdate names what has no effect or is deprecated.
func (s Strategy[T]) WarningsOnUpdate(ctx context.Context, obj, _ runtime.Object) []string {
	return s.WarningsOnCreate(ctx, obj)
}

// StatusStrategy is the behaviour of the status endpoint of T.
type StatusStrategy[T runtime.Object] struct{ Strategy[T] }

// GetResetFields names what the status endpoint ignores.
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

// PrepareForUpdate keeps everything but status.
func (s StatusStrategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	updated, stored := obj.(T), old.(T)
	s.kind.Status.KeepSpec(updated, stored)
	metav1.ResetObjectMetaForStatus(metaOf(updated), metaOf(stored))
}

// ValidateUpdate refuses a status that the kind cannot have.
func (s StatusStrategy[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return bounds.Cut(s.kind.Status.Validate(obj.(T), old.(T)))
}

// WarningsOnUpdate is empty: who writes status cannot change spec.
func (StatusStrategy[T]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// PartStrategy is the behaviour of a subresource that changes a part of T.
type PartStrategy[T runtime.Object] struct {
	Strategy[T]
	part        func(obj, stored T)
	annotations []string
}

// NewPartStrategy returns the behaviour of a subresource. part makes of obj, which the
// caller sent, what may be stored of its spec and status; metadata stays, except the annotations
// with the keys that are given, which can be set.
func NewPartStrategy[T runtime.Object](typer runtime.ObjectTyper, kind Kind[T], part func(obj, stored T), annotations ...string) PartStrategy[T] {
	return PartStrategy[T]{Strategy: NewStrategy(typer, kind), part: part, annotations: annotations}
}

// PrepareForUpdate keeps everything but the part and counts changes of spec.
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
	s.count(updated, stored)
}

// WarningsOnUpdate is empty: the caller cannot change what it would be about.
func (PartStrategy[T]) WarningsOnUpdate(context.Context, runtime.Object, runtime.Object) []string {
	return nil
}

// metaOf returns the metadata of obj, which every stored kind has.
func metaOf(obj runtime.Object) metav1.Object {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		panic(err) // a kind without metadata cannot be stored in the first place
	}
	return accessor
}
