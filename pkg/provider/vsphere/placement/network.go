// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/object"
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

// KnownBackings returns the networks that were resolved before, and whether
// these are all.
func (r *Resolver) KnownBackings(names []string) (backings map[string]types.BaseVirtualDeviceBackingInfo, complete bool) {
	out := make(map[string]types.BaseVirtualDeviceBackingInfo, len(names))
	for _, n := range names {
		if b, ok := r.backings.known(n); ok {
			out[n] = b
		}
	}
	return out, len(out) == len(names)
}

// Backings resolves the networks. All that cannot be resolved are reported.
func (r *Resolver) Backings(ctx context.Context, names []string) (map[string]types.BaseVirtualDeviceBackingInfo, error) {
	found := make(map[string]types.BaseVirtualDeviceBackingInfo, len(names))
	var failures []error
	for _, n := range names {
		b, err := r.backings.get(ctx, n, func(ctx context.Context) (types.BaseVirtualDeviceBackingInfo, error) {
			return r.backing(ctx, n)
		})
		if err != nil {
			failures = append(failures, err)
			continue
		}
		found[n] = b
	}
	return found, errors.Join(failures...)
}

func (r *Resolver) backing(ctx context.Context, name string) (types.BaseVirtualDeviceBackingInfo, error) {
	f, dc, _, err := r.finder(ctx)
	if err != nil {
		return nil, err
	}
	asked := name
	if asked == "" {
		asked = r.opts.Network
	} else if err := r.allowed(ctx, f, dc, asked); err != nil {
		return nil, err
	}
	net, err := f.NetworkOrDefault(ctx, exact(asked))
	if err != nil {
		return nil, explain("network", asked, err)
	}
	b, err := net.EthernetCardBackingInfo(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading network %q: %w", asked, err)
	}
	return b, nil
}

// allowed is an error for a network that no interface may name. Names are compared and
// not looked up: nobody learns whether a network exists that is not allowed.
func (r *Resolver) allowed(ctx context.Context, f *find.Finder, dc *object.Datacenter, name string) error {
	if slices.Contains(r.opts.Networks, driver.Any) {
		return nil
	}
	all := slices.Clone(r.opts.Networks)
	if r.opts.Network != "" {
		all = append(all, r.opts.Network)
	} else if only, err := f.DefaultNetwork(ctx); err == nil {
		all = append(all, only.GetInventoryPath())
	}
	in := dc.InventoryPath + "/network/"
	if slices.ContainsFunc(all, func(a string) bool { return pathIn(in, a) == pathIn(in, name) }) {
		return nil
	}
	return &NotUsableError{NotAllowed: true, Message: driver.NotAllowedMessage(fmt.Sprintf("network %q", name), "--vcenter-networks", all)}
}

// pathIn is the inventory path of a network that is named in full or within a folder.
func pathIn(folder, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return folder + name
}
