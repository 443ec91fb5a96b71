// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage serves virtualmachines and their subresources from one store.
//
// Guarantees:
//   - Every write, including those of subresources, is a transaction with its own strategy. It is validated, updates
//     generation and managed fields, and has no effect in a dry run.
//   - A rejected subresource request changes nothing.
//   - The change of a VM by a subresource passes admission (policies, webhooks, quotas) as an update of the VM, in
//     addition to the request itself.
//   - Only console and screenshot contact vSphere, because their content is not stored.
package storage

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/generic"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
	"github.com/slipway-dev/slipway/pkg/registry/vm/virtualmachine"
)

// Storage contains the endpoints of virtualmachines.
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
	Console             *ConsoleREST
	Screenshot          *ScreenshotREST
}

// Dependencies are the dependencies of the endpoints.
type Dependencies struct {
	// Now returns the current time.
	Now func() time.Time
	// Typer recognizes the kinds of the group.
	Typer runtime.ObjectTyper
	// Readers reads the objects that virtual machines refer to.
	Readers Readers
	// Cached reads the same objects from caches, for admission.
	Cached Readers
	// Owners records field owners of changes through subresources. Nil disables it.
	Owners FieldOwners
	// Screens provides consoles and screenshots.
	Screens Screens
	// Admission admits the change of a virtual machine by a subresource like an update. Nil admits every change.
	Admission admission.Interface
}

// FieldOwners records in metadata.managedFields what a subresource changed.
type FieldOwners interface {
	// Record returns updated with managed fields in which owner, through subresource, owns the fields that differ
	// from stored.
	Record(stored, updated runtime.Object, owner, subresource string) runtime.Object
}

// New creates the endpoints, which use one store.
func New(optsGetter generic.RESTOptionsGetter, d Dependencies) (*Storage, error) {
	kind := virtualmachine.Kind(d.Now)
	main, status, err := standard.NewREST(optsGetter, d.Typer, kind)
	if err != nil {
		return nil, err
	}
	// part returns an updater that changes a part of the object through subresource.
	part := func(subresource string, part func(v, stored *vmv1alpha1.VirtualMachine), annotations ...string) updater {
		store := *main.Store
		store.UpdateStrategy = standard.NewPartStrategy(d.Typer, kind, part, annotations...)
		return updater{store: &store, owners: d.Owners, admission: d.Admission, subresource: subresource}
	}
	power := func(verb powerVerb) *PowerREST {
		return &PowerREST{verb: verb, now: d.Now, update: part(string(verb), virtualmachine.PowerPart(d.Now), vmv1alpha1.AnnotationStartRequested)}
	}
	refresh := func(role instancetype.Role) *RefreshREST {
		return &RefreshREST{role: role, readers: d.Readers, update: part("refresh-"+string(role), virtualmachine.RefreshPart(role))}
	}
	shown := &screens{store: main.Store, screens: d.Screens, rates: newRates()}
	return &Storage{
		VirtualMachine:      &REST{REST: main, readers: d.Cached},
		Status:              status,
		Start:               power(verbStart),
		Stop:                power(verbStop),
		Restart:             power(verbRestart),
		Suspend:             power(verbSuspend),
		RefreshInstancetype: refresh(instancetype.RoleInstancetype),
		RefreshPreference:   refresh(instancetype.RolePreference),
		ExpandSpec:          &ExpandREST{store: main.Store, readers: d.Readers},
		Console:             &ConsoleREST{screens: shown},
		Screenshot:          &ScreenshotREST{screens: shown},
	}, nil
}

// REST is the main endpoint. It rejects virtual machines that contradict the objects that they refer to.
type REST struct {
	*standard.REST
	readers Readers
}
