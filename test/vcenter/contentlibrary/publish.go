// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contentlibrary

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/url"
	"strings"

	"github.com/vmware/govmomi/vapi/library"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Names of the library and of its item.
const (
	Library = "slipway"
	Item    = "photon-5"
	// Appliance is an item with OVF properties, like the cloud images of Ubuntu.
	Appliance = "ubuntu-24.04-appliance"
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
	for name, content := range map[string][]byte{Item: descriptor, Appliance: appliance()} {
		if err := addItem(ctx, client, m, id, name, content); err != nil {
			return err
		}
	}
	return nil
}

// Add adds an item like Item to the library, for tests that need several.
func Add(ctx context.Context, client *rest.Client, name string) error {
	m := library.NewManager(client)
	l, err := m.GetLibraryByName(ctx, Library)
	if err != nil {
		return fmt.Errorf("find content library %s: %w", Library, err)
	}
	return addItem(ctx, client, m, l.ID, name, []byte(strings.ReplaceAll(string(descriptor), Item, name)))
}

// NVRAM is the firmware variables file that AddWithNVRAM uses.
const NVRAM = "BootOrder=0003"

// AddWithNVRAM adds an item like Item with the variables of its firmware, as in vSphere's export with "Include image
// files".
func AddWithNVRAM(ctx context.Context, client *rest.Client, name string) error {
	m := library.NewManager(client)
	l, err := m.GetLibraryByName(ctx, Library)
	if err != nil {
		return fmt.Errorf("find content library %s: %w", Library, err)
	}
	text := strings.NewReplacer(
		"  </References>", `    <File ovf:href="`+Item+`.nvram" ovf:id="file2" ovf:size="`+fmt.Sprint(len(NVRAM))+`"/>
  </References>`,
		"    </VirtualHardwareSection>", `      <vmw:ExtraConfig ovf:required="false" vmw:key="nvram" vmw:value="ovf:/file/file2"/>
    </VirtualHardwareSection>`).Replace(string(descriptor))
	return addItem(ctx, client, m, l.ID, name, []byte(strings.ReplaceAll(text, Item, name)), part{name + ".nvram", []byte(NVRAM)})
}

// Update uploads the content of an item again, which creates another version of it.
func Update(ctx context.Context, client *rest.Client, name string) error {
	m := library.NewManager(client)
	l, err := m.GetLibraryByName(ctx, Library)
	if err != nil {
		return fmt.Errorf("find content library %s: %w", Library, err)
	}
	found, err := m.FindLibraryItems(ctx, library.FindItem{LibraryID: l.ID, Name: name})
	if err != nil || len(found) != 1 {
		return fmt.Errorf("find library item %s: there are %d: %w", name, len(found), err)
	}
	return fill(ctx, client, m, found[0], name, []byte(strings.ReplaceAll(string(descriptor), Item, name)))
}

// part is a file of an item.
type part struct {
	name string
	data []byte
}

// appliance is the descriptor with properties, which the guest gets through guestinfo
// or a CD-ROM.
func appliance() []byte {
	text := strings.ReplaceAll(string(descriptor), Item, Appliance)
	text = strings.Replace(text, "<VirtualHardwareSection>", `<VirtualHardwareSection ovf:transport="com.vmware.guestInfo iso">`, 1)
	return []byte(strings.Replace(text, "  </VirtualSystem>", `    <ProductSection ovf:required="false">
      <Info>Cloud-Init customization</Info>
      <Product>Ubuntu 24.04 Server</Product>
      <Property ovf:key="instance-id" ovf:type="string" ovf:userConfigurable="true" ovf:value="id-ovf"/>
      <Property ovf:key="hostname" ovf:type="string" ovf:userConfigurable="true" ovf:value="ubuntuguest"/>
      <Property ovf:key="user-data" ovf:type="string" ovf:userConfigurable="true" ovf:value=""/>
    </ProductSection>
  </VirtualSystem>`, 1))
}

func addItem(ctx context.Context, client *rest.Client, m *library.Manager, id, name string, descriptor []byte, more ...part) error {
	item, err := m.CreateLibraryItem(ctx, library.Item{Name: name, Type: library.ItemTypeOVF, LibraryID: id})
	if err != nil {
		return fmt.Errorf("create library item %s: %w", name, err)
	}
	return fill(ctx, client, m, item, name, descriptor, more...)
}

// fill uploads the content of an item.
func fill(ctx context.Context, client *rest.Client, m *library.Manager, item, name string, descriptor []byte, more ...part) error {
	session, err := m.CreateLibraryItemUpdateSession(ctx, library.Session{LibraryItemID: item})
	if err != nil {
		return fmt.Errorf("open an update of library item %s: %w", name, err)
	}
	disk, err := emptyDisk(name + "-disk1.vmdk")
	if err != nil {
		return fmt.Errorf("make the disk of library item %s: %w", name, err)
	}
	for _, file := range append([]part{{name + ".ovf", descriptor}, {name + "-disk1.vmdk", disk}}, more...) {
		if err := upload(ctx, client, m, session, file.name, file.data); err != nil {
			return fmt.Errorf("upload %s to library item %s: %w", file.name, name, err)
		}
	}
	if err := m.CompleteLibraryItemUpdateSession(ctx, session); err != nil {
		return fmt.Errorf("complete the update of library item %s: %w", name, err)
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
