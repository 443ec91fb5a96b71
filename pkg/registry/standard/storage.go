// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package standard

import (
	"context"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// REST is the main endpoint of a kind.
type REST struct {
	*genericregistry.Store
	shortNames, categories []string
}

var (
	_ rest.StandardStorage      = &REST{}
	_ rest.ShortNamesProvider   = &REST{}
	_ rest.CategoriesProvider   = &REST{}
	_ rest.SingularNameProvider = &REST{}
)

// NewREST creates the main endpoint and, for a kind with status, the status endpoint. Both use one store.
func NewREST[T runtime.Object](opts generic.RESTOptionsGetter, typer runtime.ObjectTyper, kind Kind[T]) (*REST, *StatusREST, error) {
	strategy := NewStrategy(typer, kind)
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return kind.New() },
		NewListFunc:               kind.NewList,
		DefaultQualifiedResource:  kind.Plural,
		SingularQualifiedResource: kind.Singular,
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
		TableConvertor:            kind.Table,
		BeginCreate:               limitCreate,
		BeginUpdate:               limitUpdate,
	}
	options := &generic.StoreOptions{RESTOptions: opts}
	if kind.GetAttrs != nil {
		options.AttrFunc, options.Indexers = kind.GetAttrs, indexers(kind)
		indexed := slices.Sorted(maps.Keys(kind.IndexFields))
		store.PredicateFunc = func(label labels.Selector, field fields.Selector) storage.SelectionPredicate {
			return storage.SelectionPredicate{Label: label, Field: matchAbsentAsFalse(field, kind.TrueFields), GetAttrs: kind.GetAttrs, IndexFields: indexed}
		}
	}
	if err := store.CompleteWithOptions(options); err != nil {
		return nil, nil, fmt.Errorf("creating the store of %s: %w", kind.Plural, err)
	}
	main := &REST{Store: store, shortNames: kind.ShortNames, categories: kind.Categories}
	if kind.Status == nil {
		return main, nil, nil
	}
	return main, newStatusREST(store, StatusStrategy[T]{strategy}), nil
}

// Create stores a new object. It checks whether the name is in use before it calls the admission plugins, because the
// last plugin charges quotas.
func (r *REST) Create(ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	return r.Store.Create(ctx, obj, func(ctx context.Context, obj runtime.Object) error {
		if err := r.refuseExisting(ctx, metaOf(obj)); err != nil || validate == nil {
			return err
		}
		return validate(ctx, obj)
	}, options)
}

// refuseExisting returns an error if an object with the name of obj exists. For a generated name it returns nil,
// because the store generates another name. It reads etcd only if the watch cache contains the object.
func (r *REST) refuseExisting(ctx context.Context, obj metav1.Object) error {
	stored, err := r.Get(ctx, obj.GetName(), &metav1.GetOptions{ResourceVersion: "0"})
	if err == nil {
		stored, err = r.Get(ctx, obj.GetName(), &metav1.GetOptions{})
	}
	if err != nil || obj.GetGenerateName() != "" {
		return nil
	}
	exists := apierrors.NewAlreadyExists(r.DefaultQualifiedResource, obj.GetName())
	if metaOf(stored).GetDeletionTimestamp() != nil {
		exists.ErrStatus.Message = "object is being deleted: " + exists.ErrStatus.Message
	}
	return exists
}

// Update replaces the object after the checks of Checked.
func (r *REST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.Store.Update(ctx, name, Checked(info, r.New()), create, update, forceAllowCreate, options)
}

// indexers returns the indexers of the watch cache for the indexed fields.
func indexers[T runtime.Object](kind Kind[T]) *cache.Indexers {
	all := cache.Indexers{}
	for field, value := range kind.IndexFields {
		all[storage.FieldIndex(field)] = func(obj any) ([]string, error) {
			o, ok := obj.(T)
			if !ok {
				return nil, fmt.Errorf("indexing %s by %s: got a %T", kind.Plural, field, obj)
			}
			return []string{value(o)}, nil
		}
	}
	return &all
}

// ShortNames implements rest.ShortNamesProvider.
func (r *REST) ShortNames() []string { return r.shortNames }

// Categories implements rest.CategoriesProvider.
func (r *REST) Categories() []string { return r.categories }

// StatusREST is the status endpoint of a kind.
type StatusREST struct{ store genericregistry.Store }

var (
	_ rest.Patcher             = &StatusREST{}
	_ rest.ResetFieldsStrategy = &StatusREST{}
	_ rest.TableConvertor      = &StatusREST{}
)

// newStatusREST creates the status endpoint with the given store.
func newStatusREST[T runtime.Object](store *genericregistry.Store, strategy StatusStrategy[T]) *StatusREST {
	shared := *store
	shared.UpdateStrategy, shared.ResetFieldsStrategy = strategy, strategy
	return &StatusREST{store: shared}
}

// New returns an empty object.
func (r *StatusREST) New() runtime.Object { return r.store.New() }

// Destroy does nothing, because the main endpoint owns the store.
func (*StatusREST) Destroy() {}

// Get returns the object.
func (r *StatusREST) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	return r.store.Get(ctx, name, options)
}

// Update replaces the status of the object. It never creates an object.
func (r *StatusREST) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, _ bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	return r.store.Update(ctx, name, Checked(info, r.New()), create, update, false, options)
}

// GetResetFields returns the fields that the endpoint ignores.
func (r *StatusREST) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return r.store.GetResetFields()
}

// ConvertToTable returns the same table as the main endpoint.
func (r *StatusREST) ConvertToTable(ctx context.Context, object, options runtime.Object) (*metav1.Table, error) {
	return r.store.ConvertToTable(ctx, object, options)
}

// matchAbsentAsFalse returns a selector that matches absent fields if it selects false.
func matchAbsentAsFalse(selector fields.Selector, trueFields []string) fields.Selector {
	if len(trueFields) == 0 {
		return selector
	}
	changed, err := selector.Transform(func(field, value string) (string, string, error) {
		if value == "false" && slices.Contains(trueFields, field) {
			value = ""
		}
		return field, value, nil
	})
	if err != nil { // never: the function returns no error
		return selector
	}
	return changed
}
