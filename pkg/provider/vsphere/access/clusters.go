// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	slipwaysession "github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
)

// Cluster is a cluster or a stand-alone host that is visible to the account.
type Cluster struct {
	// Name is the name of the cluster or host.
	Name string
	// Standalone is true for a host outside of clusters. DRS is true if DRS is enabled, and
	// Automation is its automation level.
	Standalone, DRS bool
	Automation      string
	// Hosts are the numbers of hosts by product version.
	Hosts map[string]int
}

// listClusters reads the clusters, stand-alone hosts and host versions. It makes two reads.
func listClusters(ctx context.Context, s *slipwaysession.Session) ([]Cluster, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	v, err := view.NewManager(c).CreateContainerView(ctx, c.ServiceContent.RootFolder, []string{"ComputeResource", "HostSystem"}, true)
	if err != nil {
		return nil, fmt.Errorf("listing the clusters: %w", err)
	}
	defer func() { _ = v.Destroy(context.WithoutCancel(ctx)) }()
	var owners []mo.ComputeResource
	if err := v.Retrieve(ctx, []string{"ComputeResource"}, []string{"name", "configurationEx"}, &owners); err != nil {
		return nil, fmt.Errorf("listing the clusters: %w", err)
	}
	var hosts []mo.HostSystem
	if err := v.Retrieve(ctx, []string{"HostSystem"}, []string{"parent", "summary.config.product"}, &hosts); err != nil {
		return nil, fmt.Errorf("listing the hosts: %w", err)
	}
	versions := map[types.ManagedObjectReference]map[string]int{}
	for i := range hosts {
		h, version := &hosts[i], "unknown version"
		if p := h.Summary.Config.Product; p != nil {
			version = p.Name + " " + p.Version
		}
		if h.Parent == nil {
			continue // The account cannot read the parent.
		}
		if versions[*h.Parent] == nil {
			versions[*h.Parent] = map[string]int{}
		}
		versions[*h.Parent][version]++
	}
	all := make([]Cluster, 0, len(owners))
	for i := range owners {
		o := &owners[i]
		found := Cluster{Name: o.Name, Standalone: o.Self.Type != "ClusterComputeResource", Hosts: versions[o.Self]}
		if config, ok := o.ConfigurationEx.(*types.ClusterConfigInfoEx); ok && config.DrsConfig.Enabled != nil && *config.DrsConfig.Enabled {
			found.DRS, found.Automation = true, string(config.DrsConfig.DefaultVmBehavior)
		}
		all = append(all, found)
	}
	slices.SortFunc(all, func(a, b Cluster) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

func (c *Cluster) line() string {
	drs := "DRS is not enabled"
	switch {
	case c.Standalone:
		drs = "stand-alone host"
	case c.DRS && c.Automation != "":
		drs = "DRS is enabled (" + c.Automation + ")"
	case c.DRS:
		drs = "DRS is enabled"
	}
	versions := make([]string, 0, len(c.Hosts))
	for _, version := range slices.Sorted(maps.Keys(c.Hosts)) {
		versions = append(versions, fmt.Sprintf("%d with %s", c.Hosts[version], version))
	}
	return fmt.Sprintf("%s: %s, hosts: %s", c.Name, drs, cmp.Or(strings.Join(versions, ", "), "none"))
}
