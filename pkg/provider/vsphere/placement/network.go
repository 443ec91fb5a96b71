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

// NetworkNames are the networks of an effective spec, each once. The empty
// name stands for the default network.
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

// networks resolves the networks that interfaces name.
type networks struct {
	*lookup
	compute *compute
	// backings are by name in vSphere.
	backings cache[types.BaseVirtualDeviceBackingInfo]
}

// KnownBackings returns the networks that were resolved before and that a namespace with
// these labels may use, and whether these are all.
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

// Backings resolves the networks of a virtual machine in a namespace with these labels.
// All that cannot be resolved are reported.
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

// backingAt finds a network by its name in vSphere.
func (ns *networks) backingAt(ctx context.Context, at string) (types.BaseVirtualDeviceBackingInfo, error) {
	return ns.backings.get(ctx, at, func(ctx context.Context) (types.BaseVirtualDeviceBackingInfo, error) {
		f, dc, c, err := ns.finder(ctx)
		if err != nil {
			return nil, err
		}
		net, err := one(ctx, c, WhatNetwork, at, "*", f.NetworkList)
		if err != nil {
			return nil, err
		}
		if err := ns.reachable(ctx, at, net.Reference()); err != nil {
			return nil, err
		}
		return connect(ctx, c, dc, at, net)
	})
}

// reachable is an error for a network that none of the hosts of a zone has: it may be there
// for other clusters of the datacenter. Flags have said no more than the resource pool.
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

// network is what vSphere calls a network, or an error for one that a namespace with these
// labels may not use. Names are compared and not looked up: nobody learns whether a network
// exists that is not allowed.
func (ns *networks) network(ctx context.Context, name string, of map[string]string) (string, error) {
	f, dc, c, err := ns.finder(ctx)
	if err != nil {
		return "", err
	}
	all, err := to(ns.site.networks, of)
	if err != nil {
		return "", err
	}
	if at, ok := ns.site.pick(all, name, dc.InventoryPath); ok {
		return at, nil
	}
	if name == "" {
		return "", &NotUsableError{Message: fmt.Sprintf("%s has no default network that this namespace may use: name one of its networks", ns.site.by)}
	}
	shown := namesOf(all)
	if ns.site.onlyNetwork {
		if only, err := one(ctx, c, WhatNetwork, "", "*", f.NetworkList); err == nil {
			path := only.GetInventoryPath()
			if slices.Contains(pathsIn(networksOf(dc.InventoryPath), name), path) {
				return path, nil
			}
			shown = append(shown, path)
		}
	}
	return "", &NotUsableError{NotAllowed: true, Message: driver.NotAllowedMessage(fmt.Sprintf("network %q", name), ns.site.networksBy, shown)}
}

// knownNetwork is network from memory.
func (ns *networks) knownNetwork(name string, of map[string]string) (string, bool) {
	dc, ok := ns.datacenters.known("")
	all, err := to(ns.site.networks, of)
	if !ok || err != nil {
		return "", false
	}
	if at, ok := ns.site.pick(all, name, dc.InventoryPath); ok {
		return at, true
	}
	if ns.site.onlyNetwork { // It was found under its path if it is the one.
		for _, path := range pathsIn(networksOf(dc.InventoryPath), name) {
			if _, ok := ns.backings.known(path); ok {
				return path, true
			}
		}
	}
	return "", false
}

// pick finds a network by name among those that are allowed. An empty result stands for
// the only network.
func (s *site) pick(all []allowed, name, datacenter string) (at string, ok bool) {
	if name == "" {
		switch {
		case s.onlyNetwork:
			return "", true
		case s.network == "" && len(s.networks) == 1 && len(all) == 1:
			return all[0].is, true
		case s.network == "":
			return "", false
		}
		name = s.network
	}
	in := networksOf(datacenter)
	for _, a := range all {
		switch {
		case a.any():
			return name, true
		case pathIn(in, a.name) == pathIn(in, name):
			return a.is, true
		}
	}
	return "", false
}

// networksOf is the folder of the networks of a datacenter.
func networksOf(datacenter string) string { return datacenter + "/network/" }

// pathIn is the inventory path of a network that is named in full or within a folder.
func pathIn(folder, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return folder + name
}

// pathsIn returns the inventory paths that vSphere may have for a network, for each spelling of its name.
func pathsIn(folder, name string) []string {
	var out []string
	for _, s := range Spellings(name) {
		out = append(out, pathIn(folder, s))
	}
	return out
}
