// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage serves virtualmachines and their subresources from one store.
//
// Guarantees:
//   - Every write, of a subresource too, is a transaction of the store with a
//     strategy of its own: validated, counted in generation and managed fields, and
//     without effect when a dry run is asked for.
//   - A subresource that is refused changes nothing.
//   - No endpoint talks to vSphere.
package storage

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/generic"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	vm "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine"
)

// Storage holds the endpoints of virtualmachines.
type Storage struct {
	VirtualMachine      *REST
	Status              *standard.StatusREST
	Start               *PowerREST
	Stop                *PowerREST
	Restart             *PowerREST
	Suspend             *PowerREST
	RefreshInstancetype *RefreshREST
	RefreshPreference   *RefreshREST
	ExpandSpec          *ExpandREST
}

// Dependencies is what the endpoints need beyond their own store.
type Dependencies struct {
	virtualmachine.Sources
	// Typer knows the kinds of the group.
	Typer runtime.ObjectTyper
	// Readers read what virtual machines refer to.
	Readers Readers
	// Owners records in managed fields who set what through a subresource. Nil
	// records nothing.
	Owners FieldOwners
}

// FieldOwners records in metadata.managedFields what a subresource changed.
type FieldOwners interface {
	// Record returns updated with the fields that differ from stored attributed to
	// the client named owner, by way of subresource.
	Record(stored, updated runtime.Object, owner, subresource string) runtime.Object
}

// New makes the endpoints over one store.
func New(optsGetter generic.RESTOptionsGetter, d Dependencies) (*Storage, error) {
	strategy := virtualmachine.NewStrategy(d.Typer, d.Sources)
	store := &genericregistry.Store{
		NewFunc:                   func() runtime.Object { return &vm.VirtualMachine{} },
		NewListFunc:               func() runtime.Object { return &vm.VirtualMachineList{} },
		PredicateFunc:             virtualmachine.Match,
		DefaultQualifiedResource:  vm.Resource("virtualmachines"),
		SingularQualifiedResource: vm.Resource("virtualmachine"),
		CreateStrategy:            strategy,
		UpdateStrategy:            strategy,
		DeleteStrategy:            strategy,
		ResetFieldsStrategy:       strategy,
		TableConvertor:            virtualmachine.NewTable(),
	}
	options := &generic.StoreOptions{RESTOptions: optsGetter, AttrFunc: virtualmachine.GetAttrs, Indexers: virtualmachine.Indexers()}
	if err := store.CompleteWithOptions(options); err != nil {
		return nil, fmt.Errorf("making the store of virtualmachines: %w", err)
	}

	powerStore := *store
	powerStore.UpdateStrategy = virtualmachine.NewPowerStrategy(strategy)
	power := func(verb powerVerb) *PowerREST {
		return &PowerREST{verb: verb, now: d.Now, update: updater{store: &powerStore, owners: d.Owners, subresource: string(verb)}}
	}
	refresh := func(aspect virtualmachine.Aspect, subresource string) *RefreshREST {
		refreshStore := *store
		refreshStore.UpdateStrategy = virtualmachine.NewRefreshStrategy(strategy, aspect)
		return &RefreshREST{
			aspect: aspect, readers: d.Readers,
			update: updater{store: &refreshStore, owners: d.Owners, subresource: subresource},
		}
	}
	return &Storage{
		VirtualMachine:      &REST{Store: store, readers: d.Readers},
		Status:              standard.NewStatusREST(store, virtualmachine.NewStatusStrategy(strategy)),
		Start:               power(verbStart),
		Stop:                power(verbStop),
		Restart:             power(verbRestart),
		Suspend:             power(verbSuspend),
		RefreshInstancetype: refresh(virtualmachine.AspectInstancetype, "refresh-instancetype"),
		RefreshPreference:   refresh(virtualmachine.AspectPreference, "refresh-preference"),
		ExpandSpec:          &ExpandREST{store: store, readers: d.Readers},
	}, nil
}

// REST is the main endpoint.
type REST struct {
	*genericregistry.Store
	readers Readers
}

var (
	_ rest.StandardStorage      = &REST{}
	_ rest.ShortNamesProvider   = &REST{}
	_ rest.CategoriesProvider   = &REST{}
	_ rest.SingularNameProvider = &REST{}
)

// ShortNames are the abbreviations for kubectl.
func (*REST) ShortNames() []string { return []string{"vm", "vms"} }

// Categories are the groups of kinds that kubectl asks for together.
func (*REST) Categories() []string { return []string{"all", "slipway"} }
