// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"cmp"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// site is where virtual machines go, whoever says so: a Zone or the flags.
type site struct {
	// err, if set, is why there is nothing to find.
	err error
	// isZone is true for a Zone.
	isZone bool
	// by, networksBy and devicesBy are who says so, for messages.
	by, networksBy, devicesBy string

	datacenter string
	// cluster or pools; without either the only pool is meant.
	cluster string
	pools   []string
	folder  string
	// makeFolder is true for a folder that is made if missing.
	makeFolder bool
	// policy of the storage; without it and without datastores the only one is meant.
	policy     string
	datastores []string
	// classes say what StorageClasses are here.
	classes []vmv1alpha1.ZoneStorageClass
	// network is that of interfaces that name none; empty is the only one there is, if
	// onlyNetwork is true.
	network     string
	onlyNetwork bool
	networks    []allowed
	devices     []allowed
}

// allowed is something that virtual machines of selected namespaces may have.
type allowed struct {
	// name that they know it by, and what it is in vSphere.
	name, is string
	selector *metav1.LabelSelector
}

// siteOf reads options.
func siteOf(o Options) site {
	if o.Zone != nil {
		return siteOfZone(o.Name, o.Zone)
	}
	s := site{
		by: "the server's flags", networksBy: "--vcenter-networks of the server", devicesBy: "--vcenter-host-devices of the server",
		datacenter: o.Datacenter, folder: cmp.Or(o.Folder, defaultFolder), makeFolder: o.Folder == "",
		network: o.Network, onlyNetwork: o.Network == "",
	}
	if o.ResourcePool != "" {
		s.pools = []string{o.ResourcePool}
	}
	if o.Datastore != "" {
		s.datastores = []string{o.Datastore}
	}
	for _, n := range o.Networks {
		s.networks = append(s.networks, allowed{name: n, is: n})
	}
	if o.Network != "" {
		s.networks = append(s.networks, allowed{name: o.Network, is: o.Network})
	}
	for _, d := range o.HostDevices {
		s.devices = append(s.devices, allowed{name: d, is: d})
	}
	return s
}

func siteOfZone(name string, z *vmv1alpha1.ZoneSpec) site {
	by := fmt.Sprintf("zone %q", name)
	s := site{
		isZone: true, by: by, networksBy: by, devicesBy: by,
		datacenter: z.Datacenter, cluster: z.Cluster, pools: z.ResourcePools, folder: z.Folder,
		policy: z.Storage.Policy, datastores: z.Storage.Datastores, classes: z.Storage.Classes, network: z.DefaultNetwork,
	}
	for _, n := range z.Networks {
		s.networks = append(s.networks, allowed{name: n.Name, is: n.Network, selector: n.NamespaceSelector})
	}
	for _, d := range z.Devices {
		s.devices = append(s.devices, allowed{name: d.DeviceName, is: d.DeviceName, selector: d.NamespaceSelector})
	}
	return s
}

// to are those that a namespace with these labels may have. What the labels are is not
// known if they are nil: then nothing that asks for some is allowed.
func to(all []allowed, of map[string]string) ([]allowed, error) {
	var out []allowed
	for _, a := range all {
		selects, err := provider.Selects(a.selector, of)
		if err != nil {
			return nil, err
		}
		if selects {
			out = append(out, a)
		}
	}
	return out, nil
}

func namesOf(all []allowed) []string {
	out := make([]string, 0, len(all))
	for _, a := range all {
		out = append(out, a.name)
	}
	return out
}

// Devices are the devices of hosts that virtual machines of a namespace with these labels
// may have, and who says so.
func (r *Resolver) Devices(of map[string]string) (names []string, by string) {
	all, err := to(r.site.devices, of)
	if err != nil {
		return nil, r.site.devicesBy // A selector that cannot be read selects nothing.
	}
	return namesOf(all), r.site.devicesBy
}

// any is true for what stands for everything.
func (a allowed) any() bool { return a.name == driver.Any }
