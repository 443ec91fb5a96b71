// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// Classes returns the unique StorageClasses of a spec.
func Classes(e *vmv1alpha1.VirtualMachineInstanceSpec) []string {
	if e == nil {
		return nil
	}
	return provider.StorageClassesOf(e.StorageClass, e.BootDisk, e.Volumes)
}
