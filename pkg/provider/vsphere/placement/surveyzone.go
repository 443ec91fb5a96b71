// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/storage"
)

// SurveyZone looks for everything that the zone names: folder, resource pools, datastores,
// networks, and storage policies with the datastores that they leave. It makes nothing.
func (r *Resolver) SurveyZone(ctx context.Context) []Surveyed {
	if _, _, _, err := r.finder(ctx); err != nil {
		return []Surveyed{{Zone: r.opts.Name, What: WhatFolder, Path: r.site.folder, Err: err}}
	}
	folder := Surveyed{What: WhatFolder, Path: r.site.folder}
	folder.Ref, _, folder.Err = r.folder(ctx)
	all := []Surveyed{folder}
	pools, err := r.allPools(ctx)
	all = append(all, r.surveyed(ctx, WhatPool, r.site.by, pools, err)...)
	datastores, err := r.allDatastores(ctx)
	all = append(all, r.surveyed(ctx, WhatDatastore, r.site.by, datastores, err)...)
	for _, n := range r.site.networks {
		all = append(all, r.surveyNetworkOf(ctx, n))
	}
	all = append(all, r.surveyPolicies(ctx)...)
	for i := range all {
		all[i].Zone = r.opts.Name
	}
	return all
}

// surveyed are objects by their names, or why there are none.
func (r *Resolver) surveyed(ctx context.Context, what, whose string, refs []types.ManagedObjectReference, err error) []Surveyed {
	var found []mo.ManagedEntity
	if err == nil {
		err = r.retrieve(ctx, "the names", refs, []string{"name"}, &found)
	}
	if err != nil {
		return []Surveyed{{What: what, Path: whose, Err: err}}
	}
	out := make([]Surveyed, 0, len(found))
	for i := range found {
		out = append(out, Surveyed{What: what, Path: found[i].Name, Ref: found[i].Self})
	}
	return out
}

// surveyNetworkOf looks for the port group of a network, which a host of the zone has to have.
func (r *Resolver) surveyNetworkOf(ctx context.Context, n allowed) Surveyed {
	s := Surveyed{What: WhatNetwork, Path: n.is}
	f, _, _, err := r.finder(ctx)
	if err == nil {
		_, err = r.backingAt(ctx, n.is)
	}
	if err != nil {
		s.Err = fmt.Errorf("%s: %w", n.name, err)
		return s
	}
	found := surveyNetwork(ctx, f, n.is)
	s.Ref, s.Err = found.Ref, found.Err
	return s
}

// surveyPolicies looks for the storage policies that the zone names. What the policy of a
// StorageClass is that it does not speak of, the host cluster says.
func (r *Resolver) surveyPolicies(ctx context.Context) (all []Surveyed) {
	w := &driver.Want{Desired: provider.Desired{StorageClasses: map[string]provider.StorageClass{}}}
	var classes []string
	if r.site.policy != "" {
		classes = append(classes, "")
	}
	for _, c := range r.site.classes {
		if c.Policy != "" {
			classes = append(classes, c.Name)
			w.StorageClasses[c.Name] = provider.StorageClass{}
		}
	}
	for _, class := range slices.Compact(classes) {
		here, err := r.class(class, w)
		s := Surveyed{What: WhatPolicy, Path: here.policy, Err: err}
		if err == nil {
			s.Err = r.surveyPolicy(ctx, class, w)
		}
		all = append(all, s)
	}
	return all
}

func (r *Resolver) surveyPolicy(ctx context.Context, class string, w *driver.Want) error {
	p, err := r.policy(ctx, class, w)
	if err != nil || len(p.Datastores) > 0 {
		return err
	}
	stores, err := r.allStores(ctx)
	if err != nil {
		return err
	}
	need := storage.Need{Path: "storage.policy", Class: class, Home: true}
	if class != "" {
		need.Path = "storage.classes"
	}
	_, problems := storage.Choose([]storage.Need{need}, map[string]storage.Policy{class: p}, stores)
	return &NotUsableError{Message: problems[0]}
}
