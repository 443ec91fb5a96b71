// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package storage serves virtualmachines and their subresources from one store.
//
// Guarantees:
//   - Every write, of a subresource too, is a transaction of the store with a
//     strategy of its own: validated, counted in generation and managed fields, and
//     without effect when a dry run is asked for.
//   - A subresource that is refused changes nothing.
//   - What a subresource makes of a VM is admitted like an update of the VM, by policies,
//     webhooks and quotas, beside the request itself.
//   - No endpoint talks to vSphere, but for console and screenshot: what they show nobody has
//     stored.
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
	Console             *ConsoleREST
	Screenshot          *ScreenshotREST
}

// Dependencies is what the endpoints need beyond their own store.
type Dependencies struct {
	// Now is the clock.
	Now func() time.Time
	// Typer knows the kinds of the group.
	Typer runtime.ObjectTyper
	// Readers read what virtual machines refer to.
	Readers Readers
	// Cached does so for admission, and may be behind.
	Cached Readers
	// Owners records in managed fields who set what through a subresource. Nil
	// records nothing.
	Owners FieldOwners
	// Screens show what virtual machines show.
	Screens Screens
	// Admission judges the virtual machine that a subresource makes, like an update of
	// it. Nil admits all.
	Admission admission.Interface
}

// FieldOwners records in metadata.managedFields what a subresource changed.
type FieldOwners interface {
	// Record returns updated with the fields that differ from stored attributed to
	// the client named owner, by way of subresource.
	Record(stored, updated runtime.Object, owner, subresource string) runtime.Object
}

// New makes the endpoints over one store.
func New(optsGetter generic.RESTOptionsGetter, d Dependencies) (*Storage, error) {
	kind := virtualmachine.Kind(d.Now)
	main, status, err := standard.NewREST(optsGetter, d.Typer, kind)
	if err != nil {
		return nil, err
	}
	// part makes what changes a part of the object through subresource.
	part := func(subresource string, part func(v, stored *vmv1alpha1.VirtualMachine), annotations ...string) updater {
		store := *main.Store
		store.UpdateStrategy = standard.NewPartStrategy(d.Typer, kind, part, annotations...)
		return updater{store: &store, owners: d.Owners, admission: d.Admission, subresource: subresource}
	}
	power := func(verb powerVerb) *PowerREST {
		return &PowerREST{verb: verb, now: d.Now, update: part(string(verb), virtualmachine.Power(d.Now), vmv1alpha1.AnnotationStartRequested)}
	}
	refresh := func(role instancetype.Role) *RefreshREST {
		return &RefreshREST{role: role, readers: d.Readers, update: part("refresh-"+string(role), virtualmachine.Refresh(role))}
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

// REST is the main endpoint, which refuses what contradicts the objects that a VM
// refers to.
type REST struct {
	*standard.REST
	readers Readers
}
