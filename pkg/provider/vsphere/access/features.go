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

// Feature is an optional feature.
type Feature struct {
	// Name is the name that the report shows.
	Name string
	// Privileges lists the privileges that the feature needs in addition to Required, by kind of
	// object. If privileges are joined by Or, one of them is sufficient.
	Privileges map[string][]string

	// appliesTo, if set, reports whether the privileges are needed on an object.
	appliesTo func(context.Context, *session.Session, types.ManagedObjectReference) (bool, error)
	// check, if set, checks requirements other than privileges. Its text is reported after "ok". An
	// error means that the feature cannot be used.
	check func(context.Context, *session.Session, *placement.Resolver) (string, error)
}

// Or joins alternative privileges in Feature.Privileges.
const Or = " or "

// Features are the features that need their own privileges or a vCenter service. Sources, in
// addition to that of Required: "Requires" of the methods of FileManager, VirtualDiskManager and
// HostDatastoreBrowser, and the operations of the vSphere Automation API for libraries.
var Features = []Feature{
	{Name: "storage policies", Privileges: map[string][]string{Root: {"StorageProfile.View"}}, check: checkPolicies},
	{Name: "encryption", Privileges: map[string][]string{
		Root:                 {"Cryptographer.ManageKeyServers" + Or + "Cryptographer.ReadKeyServersInfo"},
		placement.WhatFolder: {"Cryptographer.AddDisk", "Cryptographer.Encrypt", "Cryptographer.EncryptNew"},
	}, check: checkKeyProvider},
	{Name: "claims", Privileges: map[string][]string{
		Root: {"Cns.Searchable"}, placement.WhatDatastore: {"Datastore.FileManagement"},
	}, check: checkVolumes},
	{Name: "snapshots", Privileges: map[string][]string{
		placement.WhatFolder: {"VirtualMachine.State.CreateSnapshot", "VirtualMachine.State.RemoveSnapshot", "VirtualMachine.State.RevertToSnapshot"},
	}},
	{Name: "CD-ROM drives", Privileges: map[string][]string{
		placement.WhatFolder: {"VirtualMachine.Interact.DeviceConnection", "VirtualMachine.Interact.SetCDMedia"},
	}},
	{Name: "fast deploy", Privileges: map[string][]string{
		placement.WhatFolder: {"VirtualMachine.Provisioning.PromoteDisks"}, placement.WhatDatastore: {"Datastore.Browse", "Datastore.FileManagement"},
	}},
	{Name: "fast deploy on vSAN", Privileges: map[string][]string{placement.WhatDatastore: {"Datastore.Config"}}, appliesTo: needsNamespaceManager},
	{Name: "fast deploy from subscribed libraries", Privileges: map[string][]string{Root: {"ContentLibrary.SyncLibraryItem"}}},
	{Name: "clones", Privileges: map[string][]string{placement.WhatFolder: {"VirtualMachine.Provisioning.Clone"}}},
	{Name: "publishing", Privileges: map[string][]string{
		Root:                 {"ContentLibrary.AddLibraryItem", "ContentLibrary.DeleteLibraryItem", "ContentLibrary.UpdateLibraryItem"},
		placement.WhatFolder: {"VApp.Export"},
	}},
	{Name: "consoles", Privileges: map[string][]string{placement.WhatFolder: {"VirtualMachine.Interact.ConsoleInteract"}}},
	// VMware does not document the privilege for the path /screen. This is the privilege of the equivalent
	// method, CreateScreenshot_Task.
	{Name: "screenshots", Privileges: map[string][]string{placement.WhatFolder: {"VirtualMachine.Interact.CreateScreenshot"}}},
}

// FeatureReport is the result of the check of a feature.
type FeatureReport struct {
	// Name is the name of the feature.
	Name string
	// Objects are the objects with missing privileges or errors.
	Objects []Object
	// Note is additional text about a usable feature. It may be empty.
	Note string
	// Err is the reason why the feature cannot be used although no privilege is missing.
	Err error
}

// lines returns one line per finding.
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
	case f.Note != "":
		return []string{f.Name + ": ok, " + f.Note}
	}
	return []string{f.Name + ": ok"}
}

// checkFeature queries the feature's privileges on the found objects. If none is missing, it also
// checks the feature's other requirements.
func (c *checker) checkFeature(ctx context.Context, f *Feature) FeatureReport {
	r := FeatureReport{Name: f.Name}
	for _, at := range c.objects {
		ids := f.Privileges[at.What]
		if at.Err != nil || len(ids) == 0 {
			continue
		}
		o := Object{Zone: at.Zone, Kind: at.What, Name: at.Path}
		if f.appliesTo != nil {
			needed, err := f.appliesTo(ctx, c.session, at.Ref)
			if o.Err = err; err != nil {
				r.Objects = append(r.Objects, o)
			}
			if err != nil || !needed {
				continue
			}
		}
		if o.Missing, o.Err = c.missingPrivileges(ctx, at.Ref, ids); o.Err != nil || len(o.Missing) > 0 {
			r.Objects = append(r.Objects, o)
		}
	}
	if f.check != nil && len(r.Objects) == 0 {
		r.Note, r.Err = f.check(ctx, c.session, c.resolver)
	}
	return r
}

// needsNamespaceManager reports whether only the namespace manager can create top-level directories on the
// datastore.
func needsNamespaceManager(ctx context.Context, s *session.Session, ref types.ManagedObjectReference) (bool, error) {
	at, err := datastore.Locate(ctx, s, types.ManagedObjectReference{}, ref)
	return at.Namespaced, err
}

func checkPolicies(ctx context.Context, s *session.Session, _ *placement.Resolver) (string, error) {
	service, err := s.PolicyClient(ctx)
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

func checkKeyProvider(ctx context.Context, _ *session.Session, resolver *placement.Resolver) (string, error) {
	name, err := resolver.KeyProvider(ctx)
	if err == nil && name == "" {
		err = errors.New("vCenter has no default key provider: storage policies that encrypt cannot be used")
	}
	return fmt.Sprintf("the default key provider is %q", name), err
}

// checkVolumes queries at most one volume, which changes nothing.
func checkVolumes(ctx context.Context, s *session.Session, _ *placement.Resolver) (string, error) {
	clients, err := s.VolumeClients(ctx)
	if err != nil {
		return "", err
	}
	_, err = cnsmethods.CnsQueryVolume(ctx, clients.Service, &cnstypes.CnsQueryVolume{
		This: cns.CnsVolumeManagerInstance, Filter: &cnstypes.CnsQueryFilter{Cursor: &cnstypes.CnsCursor{Limit: 1}},
	})
	if err != nil {
		return "", fmt.Errorf("querying the volume service of vCenter: %w", err)
	}
	if session.IsOlderVersion(s.Info().APIVersion, configspec.PlacesClaimsSince) {
		return "but each disk can be attached to one virtual machine only, in a slot that vCenter chooses: its API is older than " + configspec.PlacesClaimsSince, nil
	}
	return "", nil
}

// isGranted reports whether a privilege, or one of several joined by Or, is granted.
func isGranted(ids string, has map[string]bool) bool {
	for _, id := range strings.Split(ids, Or) {
		if has[id] {
			return true
		}
	}
	return false
}
