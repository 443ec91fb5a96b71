// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
)

// Open is an object that a session has opened and not closed.
type Open struct {
	Session string `json:"session"`
	User    string `json:"user"`
	// Kind is the kind of the object: ContainerView, ListView, PropertyCollector or PropertyFilter.
	Kind string `json:"kind"`
	ID   string `json:"id"`
}

func (g *Gate) remember(s *simulator.Session) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sessions[s.Key] = s.Registry
}

// Session is a logged-in session.
type Session struct {
	Key   string `json:"key"`
	User  string `json:"user"`
	Agent string `json:"agent"`
}

// Sessions lists the logged-in sessions, and deletes the data of ended ones.
func (g *Gate) Sessions(registry *simulator.Registry) []Session {
	ctx := Acting(registry)
	manager, ok := ctx.Session.Get(registry.SessionManager().Self).(*simulator.SessionManager)
	if !ok {
		return nil
	}
	all := []Session{}
	alive := map[string]bool{}
	for _, s := range manager.SessionList {
		alive[s.Key] = true
		all = append(all, Session{Key: s.Key, User: s.UserName, Agent: s.UserAgent})
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, opened := range g.sessions {
		if alive[key] {
			continue
		}
		for _, obj := range opened.AllReference("ContainerView") {
			if handler, ok := obj.(simulator.RegisterObject); ok {
				registry.RemoveHandler(handler)
			}
		}
		delete(g.sessions, key)
	}
	slices.SortFunc(all, func(a, b Session) int { return strings.Compare(a.User+a.Key, b.User+b.Key) })
	return all
}

// Opened lists the objects that the logged-in sessions have opened, except the property collector that each session
// has from the start.
func (g *Gate) Opened(registry *simulator.Registry) []Open {
	all := []Open{}
	for _, s := range g.Sessions(registry) {
		g.mu.Lock()
		opened := g.sessions[s.Key]
		g.mu.Unlock()
		if opened == nil {
			continue
		}
		for _, kind := range []string{"ContainerView", "ListView", "PropertyCollector", "PropertyFilter"} {
			for _, obj := range opened.AllReference(kind) {
				if ref := obj.Reference(); strings.HasPrefix(ref.Value, "session[") {
					all = append(all, Open{Session: s.Key, User: s.User, Kind: kind, ID: ref.Value})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Open) int { return strings.Compare(a.ID, b.ID) })
	return all
}
