// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	slipwaysession "github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// maxSeen is how many objects of a kind are named: enough to choose from, and on one screen. Of
// content libraries no more are read, because each takes two calls.
const maxSeen = 10

// Seen is what an account sees of what virtual machines are made from and put on, whether
// anything names it or not.
type Seen struct {
	// Datastores are all, those first that virtual machines can be put on, with the most free
	// space first. DatastoresErr is why they could not be listed.
	Datastores    []Datastore
	DatastoresErr error
	// Libraries are some content libraries of AllLibraries, in the order of vCenter.
	// LibrariesErr is why they could not be listed.
	Libraries    []Library
	AllLibraries int
	LibrariesErr error
}

// Datastore is one that the account sees.
type Datastore struct {
	// Name that it has.
	Name string
	// Free and Capacity are in bytes.
	Free, Capacity int64
	// Accessible is true when a host reaches it.
	Accessible bool
	// Missing are the privileges that the account lacks to put virtual machines on it.
	Missing []string
}

// usable is true when virtual machines can be put on it.
func (d *Datastore) usable() bool { return d.Accessible && len(d.Missing) == 0 }

// Library is a content library that the account sees.
type Library struct {
	// Name that it has, and Type as vCenter writes it: LOCAL or SUBSCRIBED.
	Name, Type string
	// Items is how many it has.
	Items int
	// Err is why it could not be read.
	Err error
}

// See lists what the account sees. What cannot be listed is said so in Seen.
func See(ctx context.Context, s *slipwaysession.Session) Seen {
	var seen Seen
	seen.Datastores, seen.DatastoresErr = seeDatastores(ctx, s)
	seen.LibrariesErr = s.WithREST(ctx, "rest.FindLibraries", func(ctx context.Context, c *rest.Client) error {
		return seen.readLibraries(ctx, library.NewManager(c))
	})
	return seen
}

func seeDatastores(ctx context.Context, s *slipwaysession.Session) ([]Datastore, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	found, err := datastore.All(ctx, c)
	if err != nil {
		return nil, err
	}
	missing, err := lackedOn(ctx, c, found)
	if err != nil {
		return nil, err
	}
	all := make([]Datastore, 0, len(found))
	for i := range found {
		d := &found[i]
		all = append(all, Datastore{Name: d.Name, Free: d.Summary.FreeSpace, Capacity: d.Summary.Capacity, Accessible: d.Summary.Accessible, Missing: missing[d.Self]})
	}
	slices.SortFunc(all, func(a, b Datastore) int {
		if a.usable() != b.usable() {
			if a.usable() {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Free, a.Free), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// lackedOn are the privileges that the account lacks on each datastore, asked for in one call.
func lackedOn(ctx context.Context, c *vim25.Client, found []mo.Datastore) (map[types.ManagedObjectReference][]string, error) {
	me, err := userSession(ctx, c)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	ask := &types.HasPrivilegeOnEntities{This: *c.ServiceContent.AuthorizationManager, SessionId: me.Key, PrivId: Required[placement.WhatDatastore]}
	for i := range found {
		ask.Entity = append(ask.Entity, found[i].Self)
	}
	res, err := methods.HasPrivilegeOnEntities(ctx, c, ask)
	if err != nil {
		return nil, fmt.Errorf("asking for the privileges on the datastores: %w", err)
	}
	missing := map[types.ManagedObjectReference][]string{}
	for _, on := range res.Returnval {
		for _, p := range on.PrivAvailability {
			if !p.IsGranted {
				missing[on.Entity] = append(missing[on.Entity], p.PrivId)
			}
		}
	}
	return missing, nil
}

// readLibraries reads the first content libraries. It may be called again.
func (s *Seen) readLibraries(ctx context.Context, m *library.Manager) error {
	ids, err := m.ListLibraries(ctx)
	if err != nil {
		return fmt.Errorf("listing the content libraries: %w", err)
	}
	s.AllLibraries, s.Libraries = len(ids), nil
	for _, id := range ids[:min(len(ids), maxSeen)] {
		l := Library{Name: id}
		if got, err := m.GetLibraryByID(ctx, id); err != nil {
			l.Err = fmt.Errorf("reading it: %w", err)
		} else {
			l.Name, l.Type = got.Name, got.Type
			items, err := m.ListLibraryItems(ctx, id)
			if l.Items = len(items); err != nil {
				l.Err = fmt.Errorf("listing its items: %w", err)
			}
		}
		s.Libraries = append(s.Libraries, l)
	}
	return nil
}

// Print writes what is seen in lines whose number is bounded.
func (s *Seen) Print(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	usable := 0
	for i := range s.Datastores {
		if s.Datastores[i].usable() {
			usable++
		}
	}
	switch {
	case s.DatastoresErr != nil:
		line("datastores: %v", s.DatastoresErr)
	default:
		line("datastores that the account sees: %d, and %d that it can put virtual machines on", len(s.Datastores), usable)
	}
	for i := range s.Datastores[:min(len(s.Datastores), maxSeen)] {
		line("  %s", s.Datastores[i].line())
	}
	more(line, len(s.Datastores))
	if s.LibrariesErr != nil {
		line("content libraries: %v", s.LibrariesErr)
		return
	}
	line("content libraries that the account sees: %d", s.AllLibraries)
	for _, l := range s.Libraries {
		switch {
		case l.Err != nil:
			line("  %s: %v", l.Name, l.Err)
		default:
			line("  %s: %d items, %s", l.Name, l.Items, strings.ToLower(l.Type))
		}
	}
	more(line, s.AllLibraries)
}

// more says how many are not named.
func more(line func(string, ...any), all int) {
	if all > maxSeen {
		line("  and %d more", all-maxSeen)
	}
}

func (d *Datastore) line() string {
	const gibi = 1 << 30
	text := fmt.Sprintf("%s: %.1f GiB of %.1f GiB are free", d.Name, float64(d.Free)/gibi, float64(d.Capacity)/gibi)
	switch {
	case !d.Accessible:
		return text + ", no host reaches it"
	case len(d.Missing) > 0:
		return text + ", missing privilege " + strings.Join(d.Missing, ", ")
	}
	return text + ", can be used"
}
