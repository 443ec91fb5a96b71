// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"slices"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// StorageClass has the vSphere parameters of a StorageClass in the management cluster.
type StorageClass struct {
	// Policy is the name of the storage policy; empty for none.
	Policy string
	// DatastoreURL is the URL of the only datastore that may be used; empty for any.
	DatastoreURL string
	// Problem is the reason why the class cannot be used; nil if it can. A zone may define the class differently if it
	// exists. A class whose problem is Missing cannot be used in any zone.
	Problem *NotUsableError
}

// StorageClassesOf returns the names of the StorageClasses in parts of a spec, without duplicates.
func StorageClassesOf(home string, boot *vmv1alpha1.VirtualMachineBootDisk, volumes []vmv1alpha1.VirtualMachineVolume) []string {
	var out []string
	add := func(class string) {
		if class != "" && !slices.Contains(out, class) {
			out = append(out, class)
		}
	}
	add(home)
	if boot != nil {
		add(boot.StorageClass)
	}
	for i := range volumes {
		if d := volumes[i].Disk; d != nil {
			add(d.StorageClass)
		}
	}
	return out
}
