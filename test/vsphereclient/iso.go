// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphereclient

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
)

// isoContent is the content of the items' files.
const isoContent = "CD001"

// PublishISO adds an item of type ISO, with a file of a few bytes, to a content library
// that exists.
func PublishISO(ctx context.Context, vim *vim25.Client, account *url.Userinfo, inLibrary, name string) error {
	c := rest.NewClient(vim)
	if err := c.Login(ctx, account); err != nil {
		return fmt.Errorf("logging in to publish %q: %w", name, err)
	}
	defer func() { _ = c.Logout(context.WithoutCancel(ctx)) }()
	m := library.NewManager(c)
	found, err := m.FindLibrary(ctx, library.Find{Name: inLibrary})
	if err != nil || len(found) != 1 {
		return fmt.Errorf("content library %q: found %d, %w", inLibrary, len(found), err)
	}
	item, err := m.CreateLibraryItem(ctx, library.Item{Name: name, Type: library.ItemTypeISO, LibraryID: found[0]})
	if err != nil {
		return fmt.Errorf("making item %q: %w", name, err)
	}
	session, err := m.CreateLibraryItemUpdateSession(ctx, library.Session{LibraryItemID: item})
	if err != nil {
		return fmt.Errorf("updating item %q: %w", name, err)
	}
	file, err := m.AddLibraryItemFile(ctx, session, library.UpdateFile{Name: name + ".iso", SourceType: "PUSH", Size: int64(len(isoContent))})
	if err != nil {
		return fmt.Errorf("adding the file of item %q: %w", name, err)
	}
	endpoint, err := url.Parse(file.UploadEndpoint.URI)
	if err != nil {
		return fmt.Errorf("uploading the file of item %q: %w", name, err)
	}
	upload := soap.DefaultUpload
	upload.ContentLength = int64(len(isoContent))
	if err := c.Upload(ctx, strings.NewReader(isoContent), endpoint, &upload); err != nil {
		return fmt.Errorf("uploading the file of item %q: %w", name, err)
	}
	if err := m.CompleteLibraryItemUpdateSession(ctx, session); err != nil {
		return fmt.Errorf("completing item %q: %w", name, err)
	}
	return nil
}
