// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"slices"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// StorageClass is what a StorageClass of the host cluster asks of the hypervisor.
type StorageClass struct {
	// Policy names the storage policy; empty for none.
	Policy string
	// DatastoreURL is that of the only datastore that may be used; empty for any.
	DatastoreURL string
	// Problem is why it asks for nothing that can be had, nil if it does. A zone may say
	// what a class is that exists; one that is Missing can be had nowhere.
	Problem *NotUsableError
}

// StorageClassesOf are the StorageClasses that parts of a spec name, each once.
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
