// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"slices"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Classes are the StorageClasses that a spec names, each once, in order.
func Classes(e *vmv1alpha1.VirtualMachineInstanceSpec) []string {
	if e == nil {
		return nil
	}
	var out []string
	add := func(class string) {
		if class != "" && !slices.Contains(out, class) {
			out = append(out, class)
		}
	}
	add(e.StorageClass)
	if e.BootDisk != nil {
		add(e.BootDisk.StorageClass)
	}
	for i := range e.Volumes {
		if d := e.Volumes[i].Disk; d != nil {
			add(d.StorageClass)
		}
	}
	slices.Sort(out)
	return out
}
