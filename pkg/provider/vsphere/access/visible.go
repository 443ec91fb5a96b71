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

// maxListed is the number of objects of a kind that are listed. It is also the number of content
// libraries that are read, because each needs two calls.
const maxListed = 10

// Visible lists the clusters, datastores and content libraries that are visible to an account,
// whether or not Slipway is configured to use them.
type Visible struct {
	// Clusters are sorted by name. ClustersErr is set if they could not be listed.
	Clusters    []Cluster
	ClustersErr error
	// Datastores are sorted: usable ones first, then by free space in descending order.
	// DatastoresErr is set if they could not be listed.
	Datastores    []Datastore
	DatastoresErr error
	// Libraries are the first of AllLibraries content libraries, in vCenter's order. LibrariesErr
	// is set if they could not be listed.
	Libraries    []Library
	AllLibraries int
	LibrariesErr error
}

// Datastore is a datastore that is visible to the account.
type Datastore struct {
	// Name is the datastore's name.
	Name string
	// Free and Capacity are in bytes.
	Free, Capacity int64
	// Accessible is true if at least one host can access the datastore.
	Accessible bool
	// Missing lists the privileges that the account lacks to place virtual machines on the
	// datastore.
	Missing []string
}

// isUsable reports whether virtual machines can be placed on the datastore.
func (d *Datastore) isUsable() bool { return d.Accessible && len(d.Missing) == 0 }

// Library is a content library that is visible to the account.
type Library struct {
	// Name is the library's name. Type is LOCAL or SUBSCRIBED.
	Name, Type string
	// Items is the number of library items.
	Items int
	// Err is set if the library could not be read.
	Err error
}

// ListVisible lists the objects that are visible to the account. Errors are recorded in the result.
func ListVisible(ctx context.Context, s *slipwaysession.Session) Visible {
	var seen Visible
	seen.Clusters, seen.ClustersErr = listClusters(ctx, s)
	seen.Datastores, seen.DatastoresErr = listDatastores(ctx, s)
	seen.LibrariesErr = s.WithREST(ctx, "rest.FindLibraries", func(ctx context.Context, c *rest.Client) error {
		return seen.readLibraries(ctx, library.NewManager(c))
	})
	return seen
}

func listDatastores(ctx context.Context, s *slipwaysession.Session) ([]Datastore, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	found, err := datastore.All(ctx, c)
	if err != nil {
		return nil, err
	}
	missing, err := missingOn(ctx, c, found)
	if err != nil {
		return nil, err
	}
	all := make([]Datastore, 0, len(found))
	for i := range found {
		d := &found[i]
		all = append(all, Datastore{Name: d.Name, Free: d.Summary.FreeSpace, Capacity: d.Summary.Capacity, Accessible: d.Summary.Accessible, Missing: missing[d.Self]})
	}
	slices.SortFunc(all, func(a, b Datastore) int {
		if a.isUsable() != b.isUsable() {
			if a.isUsable() {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Free, a.Free), cmp.Compare(a.Name, b.Name))
	})
	return all, nil
}

// missingOn returns the privileges that the account lacks on each datastore. It makes one call.
func missingOn(ctx context.Context, c *vim25.Client, found []mo.Datastore) (map[types.ManagedObjectReference][]string, error) {
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
		return nil, fmt.Errorf("querying the privileges on the datastores: %w", err)
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

// readLibraries reads the first content libraries. It can be called more than once.
func (s *Visible) readLibraries(ctx context.Context, m *library.Manager) error {
	ids, err := m.ListLibraries(ctx)
	if err != nil {
		return fmt.Errorf("listing the content libraries: %w", err)
	}
	s.AllLibraries, s.Libraries = len(ids), nil
	for _, id := range ids[:min(len(ids), maxListed)] {
		l := Library{Name: id}
		if got, err := m.GetLibraryByID(ctx, id); err != nil {
			l.Err = fmt.Errorf("reading the library: %w", err)
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

// Print writes a limited number of lines.
func (s *Visible) Print(w io.Writer) {
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
	s.printClusters(line)
	usable := 0
	for i := range s.Datastores {
		if s.Datastores[i].isUsable() {
			usable++
		}
	}
	switch {
	case s.DatastoresErr != nil:
		line("datastores: %v", s.DatastoresErr)
	default:
		line("datastores visible to the account: %d (%d usable for virtual machines)", len(s.Datastores), usable)
	}
	for i := range s.Datastores[:min(len(s.Datastores), maxListed)] {
		line("  %s", s.Datastores[i].line())
	}
	printMore(line, len(s.Datastores))
	if s.LibrariesErr != nil {
		line("content libraries: %v", s.LibrariesErr)
		return
	}
	line("content libraries visible to the account: %d", s.AllLibraries)
	for _, l := range s.Libraries {
		switch {
		case l.Err != nil:
			line("  %s: %v", l.Name, l.Err)
		default:
			line("  %s: %d items, %s", l.Name, l.Items, strings.ToLower(l.Type))
		}
	}
	printMore(line, s.AllLibraries)
}

func (s *Visible) printClusters(line func(string, ...any)) {
	if s.ClustersErr != nil {
		line("clusters: %v", s.ClustersErr)
		return
	}
	line("clusters and stand-alone hosts visible to the account: %d (minimum version of hosts: any that this vCenter supports)", len(s.Clusters))
	for i := range s.Clusters[:min(len(s.Clusters), maxListed)] {
		line("  %s", s.Clusters[i].line())
	}
	printMore(line, len(s.Clusters))
}

// printMore writes how many objects are not listed.
func printMore(line func(string, ...any), all int) {
	if all > maxListed {
		line("  and %d more", all-maxListed)
	}
}

func (d *Datastore) line() string {
	const gibi = 1 << 30
	text := fmt.Sprintf("%s: %.1f GiB of %.1f GiB free", d.Name, float64(d.Free)/gibi, float64(d.Capacity)/gibi)
	switch {
	case !d.Accessible:
		return text + ", not accessible from any host"
	case len(d.Missing) > 0:
		return text + ", missing privilege " + strings.Join(d.Missing, ", ")
	}
	return text + ", usable"
}
