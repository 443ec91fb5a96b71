// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"

	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/observe"
)

// maxSnapshots is how many snapshots a status lists. There are 32 in a chain at most, and
// VMware advises to keep three.
const maxSnapshots = 64

// snapshots puts those of f into out.
func snapshots(out *driver.Facts, f observe.Facts) {
	for i := range f.Snapshots {
		s := &f.Snapshots[i]
		out.Snapshots = append(out.Snapshots, s.SnapshotFacts)
		name := cmp.Or(s.SnapshotName, s.Name)
		if s.Current {
			out.CurrentSnapshot = name
		}
		if len(out.Facts.Snapshots) == maxSnapshots {
			continue
		}
		out.Facts.Snapshots = append(out.Facts.Snapshots, s.VirtualMachineSnapshotNode)
		if s.Parent == "" {
			out.RootSnapshots = append(out.RootSnapshots, name)
		}
	}
}
