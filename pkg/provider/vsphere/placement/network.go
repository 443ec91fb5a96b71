// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// NetworkNames returns the unique networks of an effective spec. The empty name means the default network.
func NetworkNames(e *vmv1alpha1.VirtualMachineInstanceSpec) []string {
	if e == nil || e.Network == nil || e.Network.Disabled {
		return nil
	}
	var out []string
	seen := map[string]bool{}
	for _, i := range e.Network.Interfaces {
		if !seen[i.Network] {
			seen[i.Network] = true
			out = append(out, i.Network)
		}
	}
	return out
}

// networks resolves the networks of interfaces.
type networks struct {
	*lookup
	compute *compute
	// backings are keyed by the name in vSphere.
	backings cache[types.BaseVirtualDeviceBackingInfo]
}

// KnownBackings returns the cached networks that a namespace with these labels may use. complete is true if all
// names are cached.
func (ns *networks) KnownBackings(names []string, of map[string]string) (backings map[string]types.BaseVirtualDeviceBackingInfo, complete bool) {
	out := make(map[string]types.BaseVirtualDeviceBackingInfo, len(names))
	for _, n := range names {
		at, ok := ns.knownNetwork(n, of)
		if !ok {
			continue
		}
		if b, ok := ns.backings.known(at); ok {
			out[n] = b
		}
	}
	return out, len(out) == len(names)
}

// Backings resolves the networks of a virtual machine in a namespace with these labels. The error contains all
// networks that cannot be resolved.
func (ns *networks) Backings(ctx context.Context, names []string, of map[string]string) (map[string]types.BaseVirtualDeviceBackingInfo, error) {
	found := make(map[string]types.BaseVirtualDeviceBackingInfo, len(names))
	var failures []error
	for _, n := range names {
		b, err := ns.backing(ctx, n, of)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		found[n] = b
	}
	return found, errors.Join(failures...)
}

func (ns *networks) backing(ctx context.Context, name string, of map[string]string) (types.BaseVirtualDeviceBackingInfo, error) {
	at, err := ns.network(ctx, name, of)
	if err != nil {
		return nil, err
	}
	return ns.backingAt(ctx, at)
}

// backingAt resolves a network by its name in vSphere.
func (ns *networks) backingAt(ctx context.Context, at string) (types.BaseVirtualDeviceBackingInfo, error) {
	return ns.backings.get(ctx, at, func(ctx context.Context) (types.BaseVirtualDeviceBackingInfo, error) {
		f, dc, c, err := ns.finder(ctx)
		if err != nil {
			return nil, err
		}
		net, err := findOne(ctx, c, WhatNetwork, at, "*", f.NetworkList)
		if err != nil {
			return nil, err
		}
		if err := ns.reachable(ctx, at, net.Reference()); err != nil {
			return nil, err
		}
		return backingOf(ctx, c, dc, at, net)
	})
}

// reachable returns an error if no host of the zone has a network. The network may exist for other clusters of the
// datacenter. It does not check a site from flags.
func (ns *networks) reachable(ctx context.Context, name string, network types.ManagedObjectReference) error {
	if !ns.site.isZone {
		return nil
	}
	owners, err := ns.compute.owners(ctx)
	if err != nil {
		return err
	}
	for i := range owners {
		if slices.Contains(owners[i].Network, network) {
			return nil
		}
	}
	return &NotUsableError{Message: fmt.Sprintf("no host of %s has the network %q", ns.site.by, name), Missing: true}
}

// network returns the name of a network in vSphere. It returns an error for a network that a namespace with these
// labels may not use. It compares names without a lookup, so that the error does not reveal whether a network
// exists.
func (ns *networks) network(ctx context.Context, name string, of map[string]string) (string, error) {
	f, dc, c, err := ns.finder(ctx)
	if err != nil {
		return "", err
	}
	all, err := allowedFor(ns.site.networks, of)
	if err != nil {
		return "", err
	}
	if at, ok := ns.site.pick(all, name, dc.InventoryPath); ok {
		return at, nil
	}
	if name == "" {
		return "", &NotUsableError{Message: fmt.Sprintf("%s has no default network that this namespace may use: specify a network", ns.site.by)}
	}
	shown := namesOf(all)
	if ns.site.onlyNetwork {
		if only, err := findOne(ctx, c, WhatNetwork, "", "*", f.NetworkList); err == nil {
			path := only.GetInventoryPath()
			if slices.Contains(pathsIn(networksOf(dc.InventoryPath), name), path) {
				return path, nil
			}
			shown = append(shown, path)
		}
	}
	return "", &NotUsableError{NotAllowed: true, Message: driver.NotAllowedMessage(fmt.Sprintf("network %q", name), ns.site.networksBy, shown)}
}

// knownNetwork is network without requests to vSphere.
func (ns *networks) knownNetwork(name string, of map[string]string) (string, bool) {
	dc, ok := ns.datacenters.known("")
	all, err := allowedFor(ns.site.networks, of)
	if !ok || err != nil {
		return "", false
	}
	if at, ok := ns.site.pick(all, name, dc.InventoryPath); ok {
		return at, true
	}
	if ns.site.onlyNetwork { // If it is the only network, it is cached under its path.
		for _, path := range pathsIn(networksOf(dc.InventoryPath), name) {
			if _, ok := ns.backings.known(path); ok {
				return path, true
			}
		}
	}
	return "", false
}

// pick finds a network by name among the allowed ones. An empty result means the only network.
func (s *site) pick(all []allowed, name, datacenter string) (at string, ok bool) {
	if name == "" {
		switch {
		case s.onlyNetwork:
			return "", true
		case s.network == "" && len(s.networks) == 1 && len(all) == 1:
			return all[0].target, true
		case s.network == "":
			return "", false
		}
		name = s.network
	}
	in := networksOf(datacenter)
	for _, a := range all {
		switch {
		case a.isAny():
			return name, true
		case pathIn(in, a.name) == pathIn(in, name):
			return a.target, true
		}
	}
	return "", false
}

// networksOf returns the network folder of a datacenter.
func networksOf(datacenter string) string { return datacenter + "/network/" }

// pathIn returns the inventory path of a network with an absolute name or a name in a folder.
func pathIn(folder, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return folder + name
}

// pathsIn returns the possible inventory paths of a network, one for each spelling of its name.
func pathsIn(folder, name string) []string {
	var out []string
	for _, s := range Spellings(name) {
		out = append(out, pathIn(folder, s))
	}
	return out
}
