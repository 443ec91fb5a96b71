// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"github.com/google/uuid"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Names of the objects that are always there.
const (
	Datacenter      = "DC0"
	Cluster         = "DC0_C0"
	Network         = "VM Network"
	Portgroup       = "DC0_DVPG0"
	VMFolder        = "slipway"
	TemplatesFolder = "templates"
	// Segment is an opaque network, a segment of NSX that is the port group SegmentGroup on
	// the distributed switch; Opaque is one that is nothing else.
	Segment      = "segment-0"
	SegmentGroup = "segment-0-on-DVS0"
	Opaque       = "opaque-0"
)

// segmentID is what NSX calls the segment.
const segmentID = "7c0ffee0-0000-4000-8000-00000000cafe"

const (
	hosts      = 3
	datastores = 2
)

// MaxClusters is the most clusters of an inventory.
const MaxClusters = 8

// ClusterName is the name of the cluster of a number, from 0: Cluster is the first.
func ClusterName(n int) string { return fmt.Sprintf("%s_C%d", Datacenter, n) }

// DatastoreOf is the name of the datastore that the cluster of a number, from 1, has for
// itself. The first cluster has LocalDS_0 and LocalDS_1.
func DatastoreOf(n int) string { return ClusterName(n) + "_DS" }

// APIVersion is that of vCenter 8.0 Update 3.
const APIVersion = "8.0.3.0"

// Inventory is the built model with the references of its fixed objects.
type Inventory struct {
	Model           *simulator.Model
	Datacenter      types.ManagedObjectReference
	Pool            types.ManagedObjectReference
	VMFolder        types.ManagedObjectReference
	TemplatesFolder types.ManagedObjectReference
	Datastores      []types.ManagedObjectReference
	Network         types.ManagedObjectReference
	// Base is every fixed entity with its name, in the order of the references.
	// Two inventories with the same Base are interchangeable.
	Base []string
}

// Build creates the inventory of a vCenter with the given version of the API and number of
// clusters, of which every second one has no DRS; datastore files are put in sub-directories
// of dir. The caller removes the model.
func Build(ctx context.Context, dir, apiVersion string, clusters int) (*Inventory, error) {
	model := simulator.VPX()
	model.Datacenter, model.Cluster, model.ClusterHost, model.Portgroup = 1, clusters, hosts, 1
	model.Host, model.Datastore, model.Machine = 0, 0, 0
	// The simulator's own is that of the machine: all of its vCenters would be one.
	model.ServiceContent.About.InstanceUuid = uuid.NewString()
	model.ServiceContent.About.ApiVersion = apiVersion
	if parts := strings.SplitN(apiVersion, ".", 4); len(parts) >= 3 {
		model.ServiceContent.About.Version = strings.Join(parts[:3], ".")
	}
	if err := model.Create(); err != nil {
		return nil, fmt.Errorf("create the simulated inventory: %w", err)
	}
	inv := &Inventory{Model: model}
	if err := inv.complete(ctx, dir); err != nil {
		model.Remove()
		return nil, err
	}
	inv.Base = inv.list()
	return inv, nil
}

func (inv *Inventory) complete(ctx context.Context, dir string) error {
	client, err := vim25.NewClient(ctx, inv.Model.Service)
	if err != nil {
		return fmt.Errorf("connect to the simulated inventory: %w", err)
	}
	dc, ok := inv.Model.Map().Any("Datacenter").(*simulator.Datacenter)
	if !ok {
		return fmt.Errorf("the simulated inventory has no datacenter")
	}
	inv.Datacenter = dc.Self
	if err := inv.completeClusters(ctx, client, dir); err != nil {
		return err
	}
	vmFolder := object.NewFolder(client, dc.VmFolder)
	for _, f := range []struct {
		name string
		ref  *types.ManagedObjectReference
	}{{VMFolder, &inv.VMFolder}, {TemplatesFolder, &inv.TemplatesFolder}} {
		created, err := vmFolder.CreateFolder(ctx, f.name)
		if err != nil {
			return fmt.Errorf("create folder %s: %w", f.name, err)
		}
		*f.ref = created.Reference()
	}
	network := inv.Model.Map().FindByName(Network, dc.Network)
	if network == nil {
		return fmt.Errorf("the simulated inventory has no network %q", Network)
	}
	inv.Network = network.Reference()
	return inv.addNetworks(ctx, client, dc)
}

// addNetworks adds the kinds of networks that a vCenter with NSX has besides: a segment on
// the distributed switch, which is a port group and an opaque network, and an opaque network
// of something else. All hosts have them.
func (inv *Inventory) addNetworks(ctx context.Context, client *vim25.Client, dc *simulator.Datacenter) error {
	registry := inv.Model.Map()
	dvs, isSwitch := registry.FindByName("DVS0", registry.Get(dc.NetworkFolder).(*simulator.Folder).ChildEntity).(*simulator.DistributedVirtualSwitch)
	folder, isFolder := registry.Get(dc.NetworkFolder).(*simulator.Folder)
	if !isSwitch || !isFolder {
		return fmt.Errorf("the simulated inventory has no distributed switch")
	}
	task, err := object.NewDistributedVirtualSwitch(client, dvs.Self).AddPortgroup(ctx, []types.DVPortgroupConfigSpec{{
		Name: SegmentGroup, Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding),
		BackingType: string(types.DistributedVirtualPortgroupBackingTypeNsx), LogicalSwitchUuid: segmentID,
	}})
	if err == nil {
		err = task.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("create port group %s: %w", SegmentGroup, err)
	}
	for _, e := range registry.All("DistributedVirtualPortgroup") {
		// The simulator creates it without a type.
		if group, ok := e.(*simulator.DistributedVirtualPortgroup); ok && strings.Contains(group.Name, "DVUplinks") {
			group.Config.Uplink = types.NewBool(true)
		}
	}
	own := &simulator.Context{Context: ctx, Map: registry}
	for _, summary := range []types.OpaqueNetworkSummary{
		{NetworkSummary: types.NetworkSummary{Name: Segment}, OpaqueNetworkId: segmentID, OpaqueNetworkType: "nsx.LogicalSwitch"},
		{NetworkSummary: types.NetworkSummary{Name: Opaque}, OpaqueNetworkId: "opaque-0", OpaqueNetworkType: "other"},
	} {
		if err := folder.AddOpaqueNetwork(own, summary); err != nil {
			return fmt.Errorf("create opaque network %s: %w", summary.Name, err)
		}
		added := registry.FindByName(summary.Name, folder.ChildEntity)
		if added == nil {
			return fmt.Errorf("the simulated inventory has no network %q", summary.Name)
		}
		dc.Network = append(dc.Network, added.Reference())
		for _, e := range append(registry.All("HostSystem"), registry.All("ClusterComputeResource")...) {
			switch e := e.(type) {
			case *simulator.HostSystem:
				e.Network = append(e.Network, added.Reference())
			case *simulator.ClusterComputeResource:
				e.Network = append(e.Network, added.Reference())
			}
		}
	}
	return nil
}

// completeClusters gives every cluster its datastores, and every second one no DRS.
func (inv *Inventory) completeClusters(ctx context.Context, client *vim25.Client, dir string) error {
	for n := range inv.Model.Cluster {
		cluster, ok := inv.Model.Map().FindByName(ClusterName(n), inv.clusters()).(*simulator.ClusterComputeResource)
		if !ok || cluster.ResourcePool == nil {
			return fmt.Errorf("the simulated inventory has no cluster %s", ClusterName(n))
		}
		names := []string{DatastoreOf(n)}
		if n == 0 {
			inv.Pool, names = *cluster.ResourcePool, nil
			for i := range datastores {
				names = append(names, fmt.Sprintf("LocalDS_%d", i))
			}
		}
		for _, name := range names {
			if err := inv.addDatastore(ctx, client, cluster.Host, dir, name); err != nil {
				return err
			}
		}
		if config, ok := cluster.ConfigurationEx.(*types.ClusterConfigInfoEx); ok {
			config.DrsConfig.Enabled = types.NewBool(n%2 == 0)
		}
		if err := inv.setHardwareVersions(cluster); err != nil {
			return err
		}
	}
	return nil
}

// OldestHardware and NewestHardware are the hardware versions that the hosts run: those of ESXi
// 8.0 Update 2.
const OldestHardware, NewestHardware = 4, 21

// setHardwareVersions lists the versions that the cluster runs. The simulator's own list is that
// of ESXi 6.5, whatever it creates virtual machines with.
func (inv *Inventory) setHardwareVersions(cluster *simulator.ClusterComputeResource) error {
	browser, ok := inv.Model.Map().Get(*cluster.EnvironmentBrowser).(*simulator.EnvironmentBrowser)
	if !ok {
		return fmt.Errorf("cluster %s has no environment browser", cluster.Name)
	}
	var all []types.VirtualMachineConfigOptionDescriptor
	for v := OldestHardware; v <= NewestHardware; v++ {
		key := fmt.Sprintf("vmx-%02d", v)
		all = append(all, types.VirtualMachineConfigOptionDescriptor{
			Key: key, Description: key, Host: cluster.Host,
			CreateSupported: true, RunSupported: true, UpgradeSupported: true, DefaultConfigOption: v == NewestHardware,
		})
	}
	browser.QueryConfigOptionDescriptorResponse.Returnval = all
	return nil
}

// clusters are the references of all clusters.
func (inv *Inventory) clusters() []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	for _, e := range inv.Model.Map().All("ClusterComputeResource") {
		refs = append(refs, e.Reference())
	}
	return refs
}

func (inv *Inventory) addDatastore(ctx context.Context, client *vim25.Client, hosts []types.ManagedObjectReference, dir, name string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return fmt.Errorf("create the directory of datastore %s: %w", name, err)
	}
	for _, host := range hosts {
		system, err := object.NewHostSystem(client, host).ConfigManager().DatastoreSystem(ctx)
		if err != nil {
			return fmt.Errorf("find the datastore system of host %s: %w", host.Value, err)
		}
		ds, err := system.CreateLocalDatastore(ctx, name, path)
		if err != nil {
			return fmt.Errorf("create datastore %s on host %s: %w", name, host.Value, err)
		}
		if len(inv.Datastores) == 0 || inv.Datastores[len(inv.Datastores)-1] != ds.Reference() {
			inv.Datastores = append(inv.Datastores, ds.Reference())
		}
	}
	return nil
}

func (inv *Inventory) list() []string {
	var base []string
	for _, e := range inv.Model.Map().All("") {
		base = append(base, e.Reference().String()+" "+*Name(e))
	}
	sort.Strings(base)
	return base
}

// Name returns the field with the name of an entity; networks and switches keep theirs in a
// field of their own.
func Name(e mo.Entity) *string {
	switch x := e.(type) {
	case *mo.Network:
		return &x.Name
	case *mo.OpaqueNetwork:
		return &x.Name
	case *simulator.DistributedVirtualPortgroup:
		return &x.Name
	case *simulator.DistributedVirtualSwitch:
		return &x.Name
	}
	return &e.Entity().Name
}
