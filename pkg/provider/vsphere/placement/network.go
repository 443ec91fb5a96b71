// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
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
	f, _, _, err := r.finder(ctx)
	if err != nil {
		return nil, err
	}
	asked := name
	if asked == "" {
		asked = r.opts.Network
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
