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

// usagePage is the number of virtual machines whose usage is read in one call. Each has three numbers.
const usagePage = 1000

// usagePaths are the usage properties of VirtualMachineQuickStats. They change all the time, so the stream does not
// contain them.
var usagePaths = []string{"summary.quickStats.overallCpuUsage", "summary.quickStats.guestMemoryUsage", "summary.quickStats.hostMemoryUsage"}

// Usage is the resource usage of a virtual machine: CPU in MHz, vSphere's estimate of the guest's active memory in
// MiB, and host memory in MiB.
type Usage struct{ CPU, Active, Host int32 }

// ReadUsage reads the current usage of virtual machines. It leaves out values that vSphere does not report. It also
// leaves out a whole page if one of its virtual machines was deleted, because the usage is read again soon.
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
