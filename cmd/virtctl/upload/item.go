// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"context"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/vapi/library"
)

// States of update sessions.
const (
	stateActive = "ACTIVE"
	stateDone   = "DONE"
)

// find finds the library and the item, which it makes if there is none.
func (u *Upload) find(ctx context.Context, m *library.Manager) error {
	if u.item != "" {
		return nil
	}
	libraries, err := m.FindLibrary(ctx, library.Find{Name: u.Library})
	switch {
	case err != nil:
		return fmt.Errorf("looking for content library %q: %w", u.Library, err)
	case len(libraries) != 1:
		return fmt.Errorf("vCenter %s has %d content libraries %q that %s can see, and one is needed", u.Server.URL.Host, len(libraries), u.Library, u.Server.User.Username())
	}
	u.library = libraries[0]
	l, err := m.GetLibraryByID(ctx, u.library)
	if err != nil {
		return fmt.Errorf("reading content library %q: %w", u.Library, err)
	}
	if l.Type == "SUBSCRIBED" {
		return fmt.Errorf("content library %q is subscribed to another one: only that one can be written to", u.Library)
	}
	items, err := m.FindLibraryItems(ctx, library.FindItem{LibraryID: u.library, Name: u.Item})
	switch {
	case err != nil:
		return fmt.Errorf("looking for item %q of content library %q: %w", u.Item, u.Library, err)
	case len(items) > 1:
		return fmt.Errorf("content library %q has %d items %q: give this one another --name", u.Library, len(items), u.Item)
	case len(items) == 1:
		return u.adopt(ctx, m, items[0])
	}
	id, err := m.CreateLibraryItem(ctx, library.Item{Name: u.Item, Type: u.Image.Type, LibraryID: u.library})
	if err != nil {
		return fmt.Errorf("creating item %q of content library %q: %w", u.Item, u.Library, err)
	}
	u.item, u.made = id, true
	return nil
}

// adopt takes an item that exists. One without content is what an upload has left that
// did not come to its end.
func (u *Upload) adopt(ctx context.Context, m *library.Manager, id string) error {
	item, err := m.GetLibraryItem(ctx, id)
	if err != nil {
		return fmt.Errorf("reading item %q of content library %q: %w", u.Item, u.Library, err)
	}
	files, err := m.ListLibraryItemFiles(ctx, id)
	switch {
	case err != nil:
		return fmt.Errorf("reading the files of item %q of content library %q: %w", u.Item, u.Library, err)
	case len(files) > 0 && !u.Update:
		return fmt.Errorf("content library %q has an item %q: use --update to make this its new version, or another --name", u.Library, u.Item)
	case !strings.EqualFold(item.Type, u.Image.Type):
		return fmt.Errorf("item %q of content library %q has type %q, which %s cannot become a version of, as its type is %q", u.Item, u.Library, item.Type, u.Image.Path, u.Image.Type)
	}
	u.item = id
	return nil
}

// open takes over the update session of the item that this account has, or makes one.
// There is at most one for an item, and only those of the account are listed.
func (u *Upload) open(ctx context.Context, m *library.Manager) error {
	sessions, err := m.ListLibraryItemUpdateSession(ctx)
	if err != nil {
		return fmt.Errorf("listing update sessions: %w", err)
	}
	for _, id := range sessions {
		s, err := m.GetLibraryItemUpdateSession(ctx, id)
		if status(err) == 404 {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading update session %s: %w", id, err)
		}
		if s.LibraryItemID == u.item && s.State == stateActive {
			if u.session != id {
				u.Say("going on with the upload that was begun before")
			}
			u.session = id
			return nil
		}
	}
	u.session, err = m.CreateLibraryItemUpdateSession(ctx, library.Session{LibraryItemID: u.item})
	if err != nil {
		u.session = ""
		if class(err) == "resource_busy" {
			return fmt.Errorf("item %q of content library %q is being changed by somebody else: %w", u.Item, u.Library, err)
		}
		return fmt.Errorf("beginning the update of item %q of content library %q: %w", u.Item, u.Library, err)
	}
	return nil
}
