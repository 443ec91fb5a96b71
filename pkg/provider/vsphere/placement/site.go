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

// site is the placement configuration of virtual machines from a Zone or from the flags.
type site struct {
	// err, if set, is the reason why the site cannot be used.
	err error
	// isZone is true for a Zone.
	isZone bool
	// by, networksBy and devicesBy name the source of the configuration in messages.
	by, networksBy, devicesBy string

	datacenter string
	// cluster or pools are the resource pools. If both are empty, the only pool is used.
	cluster string
	pools   []string
	folder  string
	// createFolder is true if a missing folder is created.
	createFolder bool
	// policy is the storage policy. If it and datastores are empty, the only datastore is used.
	policy     string
	datastores []string
	// classes is the configuration of StorageClasses.
	classes []vmv1alpha1.ZoneStorageClass
	// network is the network of interfaces that do not specify one. If onlyNetwork is true, network is empty and
	// the only network is used.
	network     string
	onlyNetwork bool
	networks    []allowed
	devices     []allowed
}

// allowed is a network or device that the virtual machines of selected namespaces may use.
type allowed struct {
	// name is the name in specs, target the name in vSphere.
	name, target string
	selector     *metav1.LabelSelector
}

// siteOf returns the site for options.
func siteOf(o Options) site {
	if o.Zone != nil {
		return siteOfZone(o.Name, o.Zone)
	}
	s := site{
		by: "the server's flags", networksBy: "--vcenter-networks of the server", devicesBy: "--vcenter-host-devices of the server",
		datacenter: o.Datacenter, folder: cmp.Or(o.Folder, defaultFolder), createFolder: o.Folder == "",
		network: o.Network, onlyNetwork: o.Network == "",
	}
	if o.ResourcePool != "" {
		s.pools = []string{o.ResourcePool}
	}
	if o.Datastore != "" {
		s.datastores = []string{o.Datastore}
	}
	for _, n := range o.Networks {
		s.networks = append(s.networks, allowed{name: n, target: n})
	}
	if o.Network != "" {
		s.networks = append(s.networks, allowed{name: o.Network, target: o.Network})
	}
	for _, d := range o.HostDevices {
		s.devices = append(s.devices, allowed{name: d, target: d})
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
		s.networks = append(s.networks, allowed{name: n.Name, target: n.Network, selector: n.NamespaceSelector})
	}
	for _, d := range z.Devices {
		s.devices = append(s.devices, allowed{name: d.DeviceName, target: d.DeviceName, selector: d.NamespaceSelector})
	}
	return s
}

// allowedFor returns the entries that a namespace with these labels may use. If the labels are nil, they are not
// known. Then entries with a selector are not returned.
func allowedFor(all []allowed, of map[string]string) ([]allowed, error) {
	var out []allowed
	for _, a := range all {
		selects, err := provider.SelectsNamespace(a.selector, of)
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

// Devices returns the host devices that virtual machines of a namespace with these labels may use, and the source
// of that list.
func (r *Resolver) Devices(of map[string]string) (names []string, by string) {
	all, err := allowedFor(r.site.devices, of)
	if err != nil {
		return nil, r.site.devicesBy // An invalid selector selects nothing.
	}
	return namesOf(all), r.site.devicesBy
}

// isAny reports whether the entry allows all names.
func (a allowed) isAny() bool { return a.name == driver.Any }
