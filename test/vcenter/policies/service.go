// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/object"
	pbm "github.com/vmware/govmomi/pbm"
	"github.com/vmware/govmomi/pbm/methods"
	pbmsim "github.com/vmware/govmomi/pbm/simulator"
	pbmtypes "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Names of the policies in addition to those of govmomi.
const (
	Gold    = "Gold"
	Silver  = "Silver"
	Nowhere = "Nowhere"
	// Encryption is the policy of govmomi that encrypts.
	Encryption = "VM Encryption Policy"
)

// Tags of datastores, which policies require.
const (
	GoldTag    = "gold"
	SilverTag  = "silver"
	nowhereTag = "nowhere"
)

// golden is the datastore that has both tags; all have that of Silver.
const golden = "LocalDS_1"

// tagNamespace is that of capabilities that are tags.
const tagNamespace = "http://www.vmware.com/storage/tag"

// Service implements the methods that govmomi's service lacks.
type Service struct {
	inventory *simulator.Registry
	registry  *simulator.Registry
	profiles  *pbmsim.ProfileManager
	allowed   func(account, privilege string) bool

	mu sync.Mutex
	// tags are the tags that profiles require, by ID. Associated profiles are stored by object: vm-42 is the home of a
	// virtual machine, vm-42:2000 a disk.
	tags       map[string]string
	associated map[string]string
	// faults are the injected faults, by call.
	faults map[string]types.BaseMethodFault
}

// Install creates the service with its policies. The caller registers it with the simulator's HTTP service. allowed
// reports whether an account has a privilege on the root folder.
func Install(inventory *simulator.Registry, allowed func(account, privilege string) bool) (*Service, *simulator.Registry, error) {
	s := &Service{
		inventory: inventory, registry: pbmsim.New(), allowed: allowed,
		tags: map[string]string{}, associated: map[string]string{}, faults: map[string]types.BaseMethodFault{},
	}
	s.registry.Handler = s.refuse
	content, ok := s.registry.Get(pbm.ServiceInstance).(*pbmsim.ServiceInstance)
	if !ok {
		return nil, nil, fmt.Errorf("the simulator has no storage policy service")
	}
	if s.profiles, ok = s.registry.Get(content.Content.ProfileManager).(*pbmsim.ProfileManager); !ok {
		return nil, nil, fmt.Errorf("the simulator has no storage policies")
	}
	for _, p := range []struct{ name, tag string }{{Gold, GoldTag}, {Silver, SilverTag}, {Nowhere, nowhereTag}} {
		s.add(p.name, p.tag)
	}
	s.registry.Put(&solver{ManagedObjectReference: content.Content.PlacementSolver, s: s})
	s.registry.Put(&compliance{ManagedObjectReference: content.Content.ComplianceManager, s: s})
	s.registry.Put(&profileManager{ProfileManager: s.profiles, s: s})
	for _, e := range inventory.All("Datastore") {
		if ds, ok := e.(*simulator.Datastore); ok {
			ds.Tag = tagsOf(SilverTag)
			if ds.Name == golden {
				ds.Tag = tagsOf(SilverTag, GoldTag)
			}
		}
	}
	return s, s.registry, nil
}

func tagsOf(keys ...string) []types.Tag {
	out := make([]types.Tag, 0, len(keys))
	for _, k := range keys {
		out = append(out, types.Tag{Key: k})
	}
	return out
}

// add creates a policy that requires a tag.
func (s *Service) add(name, tag string) {
	ctx := &simulator.Context{Context: context.Background(), Map: s.registry, Session: &simulator.Session{}}
	res, ok := s.profiles.PbmCreate(ctx, &pbmtypes.PbmCreate{CreateSpec: pbmtypes.PbmCapabilityProfileCreateSpec{
		Name: name, Category: string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT),
		ResourceType: pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)},
		Constraints: &pbmtypes.PbmCapabilitySubProfileConstraints{SubProfiles: []pbmtypes.PbmCapabilitySubProfile{{
			Name: "Tag based placement", Capability: []pbmtypes.PbmCapabilityInstance{{Id: pbmtypes.PbmCapabilityMetadataUniqueId{Namespace: tagNamespace, Id: "tier"}}},
		}}},
	}}).(*methods.PbmCreateBody)
	if ok && res.Res != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.tags[res.Res.Returnval.UniqueId] = tag
	}
}

// Knows reports whether a profile exists.
func (s *Service) Knows(profile string) bool {
	res, ok := s.profiles.PbmRetrieveContent(&pbmtypes.PbmRetrieveContent{ProfileIds: []pbmtypes.PbmProfileId{{UniqueId: profile}}}).(*methods.PbmRetrieveContentBody)
	return ok && res.Fault_ == nil
}

// Associate puts an object under a profile.
func (s *Service) Associate(object, profile string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.associated[object] = profile
}

func (s *Service) profileOf(object string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.associated[object]
}

// compatible reports whether a datastore meets the requirements of a profile.
func (s *Service) compatible(ds *simulator.Datastore, profile string) bool {
	s.mu.Lock()
	tag, asks := s.tags[profile]
	s.mu.Unlock()
	return !asks || slices.ContainsFunc(ds.Tag, func(t types.Tag) bool { return t.Key == tag })
}

// profileManager answers for profiles that have no filters, for which govmomi's has a fault.
type profileManager struct {
	*pbmsim.ProfileManager
	s *Service
}

// PbmQueryIOFiltersFromProfileId returns no filters for a profile without filters.
func (m *profileManager) PbmQueryIOFiltersFromProfileId(req *pbmtypes.PbmQueryIOFiltersFromProfileId) soap.HasFault {
	res, ok := m.ProfileManager.PbmQueryIOFiltersFromProfileId(req).(*methods.PbmQueryIOFiltersFromProfileIdBody)
	if ok && res.Fault_ == nil {
		return res
	}
	out := &methods.PbmQueryIOFiltersFromProfileIdBody{Res: &pbmtypes.PbmQueryIOFiltersFromProfileIdResponse{}}
	for _, id := range req.ProfileIds {
		if !m.s.Knows(id.UniqueId) {
			return res
		}
		out.Res.Returnval = append(out.Res.Returnval, pbmtypes.PbmProfileToIofilterMap{Key: id})
	}
	return out
}

// solver computes the compatible datastores.
type solver struct {
	types.ManagedObjectReference
	s *Service
}

// PbmCheckRequirements checks the given datastores, or all if none are given.
func (p *solver) PbmCheckRequirements(req *pbmtypes.PbmCheckRequirements) soap.HasFault {
	body := &methods.PbmCheckRequirementsBody{Res: &pbmtypes.PbmCheckRequirementsResponse{}}
	for _, e := range p.s.inventory.All("Datastore") {
		ds, ok := e.(*simulator.Datastore)
		if !ok || len(req.HubsToSearch) > 0 && !slices.ContainsFunc(req.HubsToSearch, func(h pbmtypes.PbmPlacementHub) bool { return h.HubId == ds.Self.Value }) {
			continue
		}
		result := pbmtypes.PbmPlacementCompatibilityResult{Hub: pbmtypes.PbmPlacementHub{HubType: "Datastore", HubId: ds.Self.Value}}
		for _, r := range req.PlacementSubjectRequirement {
			if need, ok := r.(*pbmtypes.PbmPlacementCapabilityProfileRequirement); ok && !p.s.compatible(ds, need.ProfileId.UniqueId) {
				result.Error = append(result.Error, types.LocalizedMethodFault{
					Fault: &types.NotSupported{}, LocalizedMessage: "Datastore does not satisfy required tag(s).",
				})
			}
		}
		body.Res.Returnval = append(body.Res.Returnval, result)
	}
	return body
}

// compliance reports whether objects comply with their policies.
type compliance struct {
	types.ManagedObjectReference
	s *Service
}

// PbmFetchComplianceResult has a result for each object that is associated with a profile.
func (c *compliance) PbmFetchComplianceResult(req *pbmtypes.PbmFetchComplianceResult) soap.HasFault {
	body := &methods.PbmFetchComplianceResultBody{Res: &pbmtypes.PbmFetchComplianceResultResponse{}}
	for _, e := range req.Entities {
		profile := c.s.profileOf(e.Key)
		ds := c.s.datastoreOf(e.Key)
		if profile == "" || ds == nil {
			continue
		}
		status := pbmtypes.PbmComplianceStatusCompliant
		if !c.s.compatible(ds, profile) {
			status = pbmtypes.PbmComplianceStatusNonCompliant
		}
		body.Res.Returnval = append(body.Res.Returnval, pbmtypes.PbmComplianceResult{
			CheckTime: time.Now(), Entity: e, Profile: &pbmtypes.PbmProfileId{UniqueId: profile}, ComplianceStatus: string(status),
		})
	}
	return body
}

// datastoreOf returns the datastore of a virtual machine or of one of its disks.
func (s *Service) datastoreOf(key string) *simulator.Datastore {
	id, disk, _ := strings.Cut(key, ":")
	vm, ok := s.inventory.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: id}).(*simulator.VirtualMachine)
	if !ok || vm.Config == nil {
		return nil
	}
	file := vm.Config.Files.VmPathName
	for _, d := range vm.Config.Hardware.Device {
		if b, ok := d.GetVirtualDevice().Backing.(types.BaseVirtualDeviceFileBackingInfo); ok && disk == fmt.Sprint(d.GetVirtualDevice().Key) {
			file = b.GetVirtualDeviceFileBackingInfo().FileName
		}
	}
	var p object.DatastorePath
	p.FromString(file)
	for _, e := range s.inventory.All("Datastore") {
		if ds, ok := e.(*simulator.Datastore); ok && ds.Name == p.Datastore {
			return ds
		}
	}
	return nil
}
