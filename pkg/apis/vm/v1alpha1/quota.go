// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Resources of virtual machines that a ResourceQuota of the host cluster can limit. Their
// number is count/virtualmachines.vm.slipway.dev, as for every kind.
const (
	// QuotaVCPUs is the number of virtual CPUs of all virtual machines, whatever their
	// power state.
	QuotaVCPUs = GroupName + "/vcpus"
	// QuotaMemory is the guest memory of all virtual machines, in bytes.
	QuotaMemory = GroupName + "/memory"
	// QuotaStorage is the size of the disks that are made for virtual machines, in bytes:
	// those of their images and those of their volumes. Claims have a quota of their own.
	QuotaStorage = GroupName + "/storage"
	// QuotaRunningVCPUs is the number of virtual CPUs of the virtual machines that are
	// powered on or shall be.
	QuotaRunningVCPUs = "running." + GroupName + "/vcpus"
	// QuotaRunningMemory is the guest memory of the same virtual machines, in bytes.
	QuotaRunningMemory = "running." + GroupName + "/memory"
)
