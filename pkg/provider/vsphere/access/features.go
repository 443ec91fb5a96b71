// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vmware/govmomi/cns"
	cnsmethods "github.com/vmware/govmomi/cns/methods"
	cnstypes "github.com/vmware/govmomi/cns/types"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/configspec"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/datastore"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Feature is what an installation can do without.
type Feature struct {
	// Name for people.
	Name string
	// Privileges that it takes besides Required, by the kind of object. Of those that Or
	// joins one is enough.
	Privileges map[string][]string

	// only is true of the objects that the privileges are needed on; nil is all.
	only func(context.Context, *session.Session, types.ManagedObjectReference) (bool, error)
	// ask asks vCenter itself for what is needed besides privileges. What it says goes
	// behind "ok"; an error is why the feature cannot be used.
	ask func(context.Context, *session.Session, *placement.Resolver) (string, error)
}

// Or joins privileges of which one is enough.
const Or = " or "

// Features are those that take privileges of their own, or a service of vCenter. Beside the
// source of Required: "Requires" of the methods of FileManager, VirtualDiskManager and
// HostDatastoreBrowser, and, of libraries, the operations of the vSphere Automation API.
var Features = []Feature{
	{Name: "storage policies", Privileges: map[string][]string{Root: {"StorageProfile.View"}}, ask: askPolicies},
	{Name: "encryption", Privileges: map[string][]string{
		Root:                 {"Cryptographer.ManageKeyServers" + Or + "Cryptographer.ReadKeyServersInfo"},
		placement.WhatFolder: {"Cryptographer.AddDisk", "Cryptographer.Encrypt", "Cryptographer.EncryptNew"},
	}, ask: askKeyProvider},
	{Name: "claims", Privileges: map[string][]string{
		Root: {"Cns.Searchable"}, placement.WhatDatastore: {"Datastore.FileManagement"},
	}, ask: askVolumes},
	{Name: "snapshots", Privileges: map[string][]string{
		placement.WhatFolder: {"VirtualMachine.State.CreateSnapshot", "VirtualMachine.State.RemoveSnapshot", "VirtualMachine.State.RevertToSnapshot"},
	}},
	{Name: "CD-ROM drives", Privileges: map[string][]string{
		placement.WhatFolder: {"VirtualMachine.Interact.DeviceConnection", "VirtualMachine.Interact.SetCDMedia"},
	}},
	{Name: "fast deploy", Privileges: map[string][]string{
		placement.WhatFolder: {"VirtualMachine.Provisioning.PromoteDisks"}, placement.WhatDatastore: {"Datastore.Browse", "Datastore.FileManagement"},
	}},
	{Name: "fast deploy on vSAN", Privileges: map[string][]string{placement.WhatDatastore: {"Datastore.Config"}}, only: namespaced},
	{Name: "fast deploy from subscribed libraries", Privileges: map[string][]string{Root: {"ContentLibrary.SyncLibraryItem"}}},
	{Name: "clones", Privileges: map[string][]string{placement.WhatFolder: {"VirtualMachine.Provisioning.Clone"}}},
	{Name: "publishing", Privileges: map[string][]string{
		Root:                 {"ContentLibrary.AddLibraryItem", "ContentLibrary.DeleteLibraryItem", "ContentLibrary.UpdateLibraryItem"},
		placement.WhatFolder: {"VApp.Export"},
	}},
	{Name: "consoles", Privileges: map[string][]string{placement.WhatFolder: {"VirtualMachine.Interact.ConsoleInteract"}}},
	// Which one a picture takes, VMware does not say of the path it comes from: that of the
	// method which makes the same.
	{Name: "screenshots", Privileges: map[string][]string{placement.WhatFolder: {"VirtualMachine.Interact.CreateScreenshot"}}},
}

// FeatureReport says whether a feature can be used.
type FeatureReport struct {
	// Name of the feature.
	Name string
	// Objects with what is missing on them.
	Objects []Object
	// Says what vCenter answers, empty for nothing.
	Says string
	// Err is why it cannot be used although no privilege is missing; nil if it can.
	Err error
}

// lines are the findings.
func (f *FeatureReport) lines() []string {
	var out []string
	for _, o := range f.Objects {
		if o.Err != nil {
			out = append(out, fmt.Sprintf("%s: %s: %v", f.Name, o.title(), o.Err))
		}
		for _, p := range o.Missing {
			out = append(out, fmt.Sprintf("%s: %s: missing privilege %s", f.Name, o.title(), p))
		}
	}
	switch {
	case f.Err != nil:
		return append(out, fmt.Sprintf("%s: %v", f.Name, f.Err))
	case len(out) > 0:
		return out
	case f.Says != "":
		return []string{f.Name + ": ok, " + f.Says}
	}
	return []string{f.Name + ": ok"}
}

// checkFeature asks for the privileges of one on the objects that were found, and vCenter
// itself if none is missing.
func (c *checker) checkFeature(ctx context.Context, f *Feature) FeatureReport {
	r := FeatureReport{Name: f.Name}
	for _, at := range c.found {
		ids := f.Privileges[at.What]
		if at.Err != nil || len(ids) == 0 {
			continue
		}
		o := Object{Zone: at.Zone, Kind: at.What, Name: at.Path}
		if f.only != nil {
			needed, err := f.only(ctx, c.session, at.Ref)
			if o.Err = err; err != nil {
				r.Objects = append(r.Objects, o)
			}
			if err != nil || !needed {
				continue
			}
		}
		if o.Missing, o.Err = c.lacking(ctx, at.Ref, ids); o.Err != nil || len(o.Missing) > 0 {
			r.Objects = append(r.Objects, o)
		}
	}
	if f.ask != nil && len(r.Objects) == 0 {
		r.Says, r.Err = f.ask(ctx, c.session, c.places)
	}
	return r
}

// namespaced is true of a datastore that takes directories at its top from the namespace
// manager alone.
func namespaced(ctx context.Context, s *session.Session, ref types.ManagedObjectReference) (bool, error) {
	at, err := datastore.Locate(ctx, s, types.ManagedObjectReference{}, ref)
	return at.Namespaced, err
}

func askPolicies(ctx context.Context, s *session.Session, _ *placement.Resolver) (string, error) {
	service, err := s.Policies(ctx)
	if err != nil {
		return "", err
	}
	kind := pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)}
	ids, err := service.QueryProfile(ctx, kind, string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil {
		return "", fmt.Errorf("listing the storage policies of vCenter: %w", err)
	}
	return fmt.Sprintf("vCenter has %d", len(ids)), nil
}

func askKeyProvider(ctx context.Context, _ *session.Session, places *placement.Resolver) (string, error) {
	name, err := places.KeyProvider(ctx)
	if err == nil && name == "" {
		err = errors.New("vCenter has no default key provider, so that policies which encrypt cannot be used")
	}
	return fmt.Sprintf("the default key provider is %q", name), err
}

// askVolumes asks the volume service for one volume of all, which changes nothing.
func askVolumes(ctx context.Context, s *session.Session, _ *placement.Resolver) (string, error) {
	clients, err := s.Volumes(ctx)
	if err != nil {
		return "", err
	}
	_, err = cnsmethods.CnsQueryVolume(ctx, clients.Service, &cnstypes.CnsQueryVolume{
		This: cns.CnsVolumeManagerInstance, Filter: &cnstypes.CnsQueryFilter{Cursor: &cnstypes.CnsCursor{Limit: 1}},
	})
	if err != nil {
		return "", fmt.Errorf("asking the volume service of vCenter: %w", err)
	}
	if session.Older(s.Info().APIVersion, configspec.PlacesClaimsSince) {
		return "to one virtual machine at a time, at places that vCenter chooses: its API is older than " + configspec.PlacesClaimsSince, nil
	}
	return "", nil
}

// granted reports whether a privilege of a table is there, of several joined by Or any.
func granted(ids string, has map[string]bool) bool {
	for _, id := range strings.Split(ids, Or) {
		if has[id] {
			return true
		}
	}
	return false
}
