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

// find finds the library and the item, and creates the item if it does not exist.
func (u *Upload) find(ctx context.Context, m *library.Manager) error {
	if u.item != "" {
		return nil
	}
	libraries, err := m.FindLibrary(ctx, library.Find{Name: u.Library})
	switch {
	case err != nil:
		return fmt.Errorf("finding content library %q: %w", u.Library, err)
	case len(libraries) != 1:
		return fmt.Errorf("vCenter %s has %d content libraries %q visible to %s, expected one", u.Server.URL.Host, len(libraries), u.Library, u.Server.User.Username())
	}
	u.library = libraries[0]
	l, err := m.GetLibraryByID(ctx, u.library)
	if err != nil {
		return fmt.Errorf("reading content library %q: %w", u.Library, err)
	}
	if l.Type == "SUBSCRIBED" {
		return fmt.Errorf("content library %q is subscribed and read-only: upload to its publisher", u.Library)
	}
	items, err := m.FindLibraryItems(ctx, library.FindItem{LibraryID: u.library, Name: u.Item})
	switch {
	case err != nil:
		return fmt.Errorf("finding item %q of content library %q: %w", u.Item, u.Library, err)
	case len(items) > 1:
		return fmt.Errorf("content library %q has %d items %q: use another --name", u.Library, len(items), u.Item)
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

// adopt uses an existing item. An empty item is the result of an upload that failed.
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
		return fmt.Errorf("content library %q already has an item %q: use --update to replace its content, or another --name", u.Library, u.Item)
	case !strings.EqualFold(item.Type, u.Image.Type):
		return fmt.Errorf("item %q of content library %q has type %q, but %s has type %q", u.Item, u.Library, item.Type, u.Image.Path, u.Image.Type)
	}
	u.item = id
	return nil
}

// open resumes the account's update session of the item, or creates one. An item has at most one session, and only
// those of the account are listed.
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
				u.Say("resuming the previous upload")
			}
			u.session = id
			return nil
		}
	}
	u.session, err = m.CreateLibraryItemUpdateSession(ctx, library.Session{LibraryItemID: u.item})
	if err != nil {
		u.session = ""
		if class(err) == "resource_busy" {
			return fmt.Errorf("item %q of content library %q is being changed by another client: %w", u.Item, u.Library, err)
		}
		return fmt.Errorf("starting the update of item %q of content library %q: %w", u.Item, u.Library, err)
	}
	return nil
}
