// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// AsImage returns the image as one without namespace, for code that does not care which
// kind names it. It shares memory with i.
func (i *ClusterVirtualMachineImage) AsImage() *VirtualMachineImage {
	return &VirtualMachineImage{ObjectMeta: i.ObjectMeta, Spec: i.Spec, Status: i.Status}
}
