// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/url"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Names of the library and of its item.
const (
	Library = "slipway"
	Item    = "photon-5"
)

//go:embed photon-5.ovf
var descriptor []byte

// Publish creates the library in the datastore, with its item. The client must
// be logged in.
func Publish(ctx context.Context, client *rest.Client, datastore types.ManagedObjectReference) error {
	m := library.NewManager(client)
	id, err := m.CreateLibrary(ctx, library.Library{
		Name:    Library,
		Type:    "LOCAL",
		Storage: []library.StorageBacking{{DatastoreID: datastore.Value, Type: "DATASTORE"}},
	})
	if err != nil {
		return fmt.Errorf("create content library %s: %w", Library, err)
	}
	item, err := m.CreateLibraryItem(ctx, library.Item{Name: Item, Type: library.ItemTypeOVF, LibraryID: id})
	if err != nil {
		return fmt.Errorf("create library item %s: %w", Item, err)
	}
	session, err := m.CreateLibraryItemUpdateSession(ctx, library.Session{LibraryItemID: item})
	if err != nil {
		return fmt.Errorf("open an update of library item %s: %w", Item, err)
	}
	disk, err := emptyDisk(Item + "-disk1.vmdk")
	if err != nil {
		return fmt.Errorf("make the disk of library item %s: %w", Item, err)
	}
	for _, file := range []struct {
		name    string
		content []byte
	}{{Item + ".ovf", descriptor}, {Item + "-disk1.vmdk", disk}} {
		if err := upload(ctx, client, m, session, file.name, file.content); err != nil {
			return fmt.Errorf("upload %s to library item %s: %w", file.name, Item, err)
		}
	}
	if err := m.CompleteLibraryItemUpdateSession(ctx, session); err != nil {
		return fmt.Errorf("complete the update of library item %s: %w", Item, err)
	}
	return nil
}

func upload(ctx context.Context, client *rest.Client, m *library.Manager, session, name string, content []byte) error {
	file, err := m.AddLibraryItemFile(ctx, session, library.UpdateFile{
		Name: name, SourceType: "PUSH", Size: int64(len(content)),
	})
	if err != nil {
		return err
	}
	endpoint, err := url.Parse(file.UploadEndpoint.URI)
	if err != nil {
		return fmt.Errorf("upload endpoint: %w", err)
	}
	param := soap.DefaultUpload
	param.ContentLength = int64(len(content))
	return client.Upload(ctx, bytes.NewReader(content), endpoint, &param)
}
