// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// hostSpeed is the property with the clock rate of a host's cores in MHz.
const hostSpeed = "summary.hardware.cpuMhz"

// hostPaths are the host properties in the stream.
var hostPaths = []string{"name", hostSpeed}

// host is the cached state of an ESXi host.
type host struct {
	name string
	mhz  int64
}

// HostName returns the name of a host, or an empty string if it is not known.
func (i *Inventory) HostName(ref types.ManagedObjectReference) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hosts[ref].name
}

// HostMHz returns the clock rate of a host's cores, or 0 if it is not known.
func (i *Inventory) HostMHz(ref *types.ManagedObjectReference) int64 {
	if ref == nil {
		return 0
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hosts[*ref].mhz
}

// learnHosts reads names and clock rates of hosts that the stream has not reported yet. The first update set is
// delivered in parts. A virtual machine that is published before its host would have no host name. A host whose
// name cannot be read is requested only once.
func (i *Inventory) learnHosts(ctx context.Context, c *vim25.Client, vms map[types.ManagedObjectReference]*mo.VirtualMachine) error {
	missing := map[types.ManagedObjectReference]struct{}{}
	i.mu.Lock()
	for _, vm := range vms {
		if vm == nil || vm.Runtime.Host == nil {
			continue
		}
		if _, known := i.hosts[*vm.Runtime.Host]; !known {
			missing[*vm.Runtime.Host] = struct{}{}
		}
	}
	i.mu.Unlock()
	for ref := range missing {
		var h mo.HostSystem
		err := property.DefaultCollector(c).RetrieveOne(ctx, ref, hostPaths, &h)
		switch vimfault.KindOf(err) {
		case vimfault.None, vimfault.NotFound, vimfault.Denied:
		default:
			return fmt.Errorf("reading host %s: %w", ref.Value, err)
		}
		i.mu.Lock()
		if _, known := i.hosts[ref]; !known {
			i.hosts[ref] = hostOf(&h)
		}
		i.mu.Unlock()
	}
	return nil
}

func hostOf(h *mo.HostSystem) host {
	out := host{name: h.Name}
	if hw := h.Summary.Hardware; hw != nil {
		out.mhz = int64(hw.CpuMhz)
	}
	return out
}

func (i *Inventory) updateHost(u types.ObjectUpdate) {
	i.mu.Lock()
	defer i.mu.Unlock()
	h := i.hosts[u.Obj]
	for _, c := range u.ChangeSet {
		switch v := c.Val.(type) {
		case string:
			if c.Name == "name" {
				h.name = v
			}
		case int32:
			if c.Name == hostSpeed {
				h.mhz = int64(v)
			}
		}
	}
	i.hosts[u.Obj] = h
}
