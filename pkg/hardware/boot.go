// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"strings"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// bootDisk is the boot disk of a spec, made if it has none. Another spec may share the one
// that is there.
func bootDisk(s *Spec) *vmv1alpha1.VirtualMachineBootDisk {
	if s.BootDisk == nil {
		s.BootDisk = &vmv1alpha1.VirtualMachineBootDisk{}
	} else {
		s.BootDisk = s.BootDisk.DeepCopy()
	}
	return s.BootDisk
}

// bootOrder prints what the firmware tries to boot from.
func bootOrder(s *Spec) string {
	out := make([]string, 0, len(s.BootOrder))
	for _, d := range s.BootOrder {
		out = append(out, strings.TrimSpace(string(d.Type)+" "+d.Name))
	}
	return strings.Join(out, ", ")
}
