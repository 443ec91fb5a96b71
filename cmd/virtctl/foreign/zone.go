// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"fmt"
	"slices"
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Place is the location of a VM in Slipway.
type Place struct {
	// Zone is the zone, nil if the vCenter has no known zones.
	Zone *vmv1alpha1.Zone
	// Others are further zones that contain the VM.
	Others []string
}

// VCenterOf returns the name of the VCenter with the instance UUID. The vCenter of the server's flags has no object.
// It is assumed if there are no VCenter objects, or if none matches and zones use the vCenter of the flags.
func VCenterOf(instanceUUID string, all []vmv1alpha1.VCenter, zones []vmv1alpha1.Zone) (string, error) {
	if len(all) == 0 {
		return vmv1alpha1.DefaultVCenter, nil
	}
	var names []string
	for i := range all {
		if strings.EqualFold(all[i].Status.InstanceUUID, instanceUUID) {
			return all[i].Name, nil
		}
		names = append(names, all[i].Name)
	}
	ofFlags := slices.ContainsFunc(zones, func(z vmv1alpha1.Zone) bool {
		return z.VCenterName() == vmv1alpha1.DefaultVCenter
	})
	if ofFlags && !slices.Contains(names, vmv1alpha1.DefaultVCenter) {
		return vmv1alpha1.DefaultVCenter, nil
	}
	return "", fmt.Errorf("vCenter %s is not managed by Slipway (known: %s)", instanceUUID, strings.Join(names, ", "))
}

// PlaceOf finds the zone of a VM by its folder and its cluster or resource pool. The error reports why the VM is in
// no zone.
func PlaceOf(m *Machine, vcenter string, zones []vmv1alpha1.Zone) (Place, error) {
	var place Place
	var folders []string
	known := false
	for i := range zones {
		z := &zones[i]
		if z.VCenterName() != vcenter || z.Spec.Datacenter != "" && !names(z.Spec.Datacenter, m.Datacenter) {
			continue
		}
		known = true
		if !slices.ContainsFunc(m.Folders, func(f string) bool { return names(z.Spec.Folder, f) }) {
			folders = append(folders, fmt.Sprintf("%s (zone %s)", z.Spec.Folder, z.Name))
			continue
		}
		inPool := func(given string) bool {
			return slices.ContainsFunc(m.Pools, func(p string) bool { return names(given, p) })
		}
		switch {
		case z.Spec.Cluster != "" && !names(z.Spec.Cluster, m.Cluster), z.Spec.Cluster == "" && !slices.ContainsFunc(z.Spec.ResourcePools, inPool):
		case place.Zone == nil:
			place.Zone = z
		default:
			place.Others = append(place.Others, z.Name)
		}
	}
	switch {
	case place.Zone != nil || !known:
		return place, nil
	case len(folders) > 0:
		return place, fmt.Errorf("it is in no zone: move it below the folder %s", strings.Join(folders, " or "))
	}
	return place, fmt.Errorf("it is in no zone: no zone contains %s", m.Cluster)
}

// network returns the zone's name for a vSphere network, or an empty string.
func (p *Place) network(inventoryPath string) string {
	if p.Zone == nil || inventoryPath == "" {
		return ""
	}
	for _, n := range p.Zone.Spec.Networks {
		if names(n.Network, inventoryPath) {
			return n.Name
		}
	}
	return ""
}
