// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/slipway-dev/slipway/pkg/provider/vsphere/session"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/vimfault"
)

// usagePage bounds how many virtual machines one call reads the usage of: three numbers each.
const usagePage = 1000

// usagePaths are what VirtualMachineQuickStats tells of usage. They change all the time, and
// are in no filter of the stream.
var usagePaths = []string{"summary.quickStats.overallCpuUsage", "summary.quickStats.guestMemoryUsage", "summary.quickStats.hostMemoryUsage"}

// Usage is what a virtual machine uses: the CPU in MHz, the memory that its guest uses as
// vSphere estimates, and the memory of its host that it takes, both in MiB.
type Usage struct{ CPU, Active, Host int32 }

// ReadUsage reads what the virtual machines use now. What vSphere does not tell is left out,
// and so is a page of which one is gone: it is read again soon.
func ReadUsage(ctx context.Context, s *session.Session, refs []types.ManagedObjectReference) (map[types.ManagedObjectReference]Usage, error) {
	c, err := s.Vim(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[types.ManagedObjectReference]Usage, len(refs))
	for len(refs) > 0 {
		page := refs[:min(len(refs), usagePage)]
		refs = refs[len(page):]
		content, err := retrieve(ctx, c, page, usagePaths)
		if vimfault.KindOf(err) == vimfault.NotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading the usage of %d virtual machines: %w", len(page), err)
		}
		for _, o := range content {
			out[o.Obj] = usageOf(o.PropSet)
		}
	}
	return out, nil
}

func usageOf(set []types.DynamicProperty) (u Usage) {
	for _, p := range set {
		n, ok := p.Val.(int32)
		if !ok {
			continue
		}
		switch p.Name {
		case usagePaths[0]:
			u.CPU = n
		case usagePaths[1]:
			u.Active = n
		case usagePaths[2]:
			u.Host = n
		}
	}
	return u
}
