// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/pbm"
	pbmtypes "github.com/vmware/govmomi/pbm/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// profile finds the storage policy that p is named after, and which datastores are
// compatible with it.
func (r *Resolver) profile(ctx context.Context, class string, all []storage.Datastore, p *storage.Policy) error {
	service, err := r.opts.Session.Policies(ctx)
	if err != nil {
		return err
	}
	profiles, err := r.profiles.get(ctx, "", func(ctx context.Context) (map[string]string, error) { return ReadProfiles(ctx, service) })
	if err != nil {
		return err
	}
	found := false
	if p.ID, found = profiles[p.Name]; !found {
		r.profiles.clear() // It may be made by the next look.
		return &NotUsableError{Missing: true, Message: fmt.Sprintf("%s names storage policy %q, which vCenter does not have; it has %s",
			r.sayClass(class), p.Name, conditions.List(quoted(slices.Sorted(maps.Keys(profiles))), ", "))}
	}
	if p.Encrypted, err = service.SupportsEncryption(ctx, p.ID); err != nil {
		return fmt.Errorf("asking whether storage policy %q encrypts: %w", p.Name, err)
	}
	return compatible(ctx, service, all, p)
}

func (r *Resolver) sayClass(class string) string {
	if class == "" {
		return r.site.by
	}
	return fmt.Sprintf("StorageClass %q", class)
}

func quoted(names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, fmt.Sprintf("%q", n))
	}
	return out
}

// ReadProfiles returns the IDs of all storage policies by their names, which are unique.
func ReadProfiles(ctx context.Context, service *pbm.Client) (map[string]string, error) {
	kind := pbmtypes.PbmProfileResourceType{ResourceType: string(pbmtypes.PbmProfileResourceTypeEnumSTORAGE)}
	ids, err := service.QueryProfile(ctx, kind, string(pbmtypes.PbmProfileCategoryEnumREQUIREMENT))
	if err != nil {
		return nil, fmt.Errorf("listing the storage policies of vCenter: %w", err)
	}
	out := make(map[string]string, len(ids))
	if len(ids) == 0 {
		return out, nil
	}
	profiles, err := service.RetrieveContent(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("reading the storage policies of vCenter: %w", err)
	}
	for _, p := range profiles {
		out[p.GetPbmProfile().Name] = p.GetPbmProfile().ProfileId.UniqueId
	}
	return out, nil
}

// compatible asks which datastores a policy leaves. One that is not in the answer is not
// compatible either.
func compatible(ctx context.Context, service *pbm.Client, all []storage.Datastore, p *storage.Policy) error {
	hubs := make([]pbmtypes.PbmPlacementHub, 0, len(all))
	for _, d := range all {
		hubs = append(hubs, pbmtypes.PbmPlacementHub{HubType: "Datastore", HubId: d.ID})
	}
	answer, err := service.CheckRequirements(ctx, hubs, nil, []pbmtypes.BasePbmPlacementRequirement{
		&pbmtypes.PbmPlacementCapabilityProfileRequirement{ProfileId: pbmtypes.PbmProfileId{UniqueId: p.ID}},
	})
	if err != nil {
		return fmt.Errorf("asking which datastores are compatible with storage policy %q: %w", p.Name, err)
	}
	p.Incompatible = make(map[string]string, len(all))
	for _, d := range all {
		at := slices.IndexFunc(answer, func(r pbmtypes.PbmPlacementCompatibilityResult) bool { return r.Hub.HubId == d.ID })
		switch {
		case at < 0:
			p.Incompatible[d.Name] = "not compatible"
		case len(answer[at].Error) > 0:
			why := "not compatible"
			if m := strings.TrimSpace(answer[at].Error[0].LocalizedMessage); m != "" {
				why += ": " + m
			}
			p.Incompatible[d.Name] = why
		}
	}
	return nil
}
