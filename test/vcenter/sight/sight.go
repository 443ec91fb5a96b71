// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package sight

import (
	"maps"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Watcher receives the objects whose appearance has changed. The zero reference means all objects.
type Watcher interface {
	Touch(ref types.ManagedObjectReference)
}

// Sight is the client view of an inventory.
type Sight struct {
	registry *simulator.Registry

	mu        sync.Mutex
	watchers  []Watcher
	disguises map[types.ManagedObjectReference]Disguise
	forgotten map[types.ManagedObjectReference]struct{}
	// omitted are the properties of objects that cannot be read.
	omitted map[types.ManagedObjectReference]map[string]bool
	// grants are the permissions of an account, by the entity that they are set on.
	grants map[string]map[types.ManagedObjectReference]privileges
}

// New returns an unrestricted view of an inventory: every account sees all objects.
func New(registry *simulator.Registry) *Sight {
	return &Sight{
		registry:  registry,
		disguises: map[types.ManagedObjectReference]Disguise{},
		forgotten: map[types.ManagedObjectReference]struct{}{},
		omitted:   map[types.ManagedObjectReference]map[string]bool{},
		grants:    map[string]map[types.ManagedObjectReference]privileges{},
	}
}

// Tell registers w for changes.
func (s *Sight) Tell(w Watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, w)
}

// touch must be called without the lock.
func (s *Sight) touch(ref types.ManagedObjectReference) {
	s.mu.Lock()
	watchers := s.watchers
	s.mu.Unlock()
	for _, w := range watchers {
		w.Touch(ref)
	}
}

// Forget hides objects from all accounts. It is used for tasks, which vCenter keeps in memory only.
func (s *Sight) Forget(refs ...types.ManagedObjectReference) {
	s.mu.Lock()
	for _, ref := range refs {
		s.forgotten[ref] = struct{}{}
	}
	s.mu.Unlock()
	s.touch(types.ManagedObjectReference{})
}

// Exists is false for an object that was forgotten.
func (s *Sight) Exists(ref types.ManagedObjectReference) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, gone := s.forgotten[ref]
	return !gone
}

// Sees reports whether the object is in the lists of the account: it has not been dropped, and the account has
// System.View on it.
func (s *Sight) Sees(account string, ref types.ManagedObjectReference) bool {
	return s.Exists(ref) && s.Allowed(account, ref, SystemView)
}

// Disguises returns the virtual machines with a disguise.
func (s *Sight) Disguises() map[types.ManagedObjectReference]Disguise {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.disguises)
}

// Reference identifies the handler in the registry.
func (s *Sight) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "SlipwaySight", Value: "sight"}
}

// PutObject is called by the registry for every new object.
func (s *Sight) PutObject(*simulator.Context, mo.Reference) {}

// UpdateObject is called by the registry for every changed object.
func (s *Sight) UpdateObject(*simulator.Context, mo.Reference, []types.PropertyChange) {}

// RemoveObject is called by the registry for every removed object.
func (s *Sight) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.disguises, ref)
	delete(s.omitted, ref)
	for _, grants := range s.grants {
		delete(grants, ref)
	}
}
