// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// Resources of virtual machines that a ResourceQuota of the management cluster can limit. The number of virtual
// machines is the resource count/virtualmachines.vm.slipway.dev, as for every kind.
const (
	// QuotaVCPUs is the number of virtual CPUs of all virtual machines in any power state.
	QuotaVCPUs = GroupName + "/vcpus"
	// QuotaMemory is the guest memory of all virtual machines in any power state, in bytes.
	QuotaMemory = GroupName + "/memory"
	// QuotaStorage is the size of the disks that are created for virtual machines, in bytes. It includes the disks of
	// images and volumes, but not of PersistentVolumeClaims, which have their own quota.
	QuotaStorage = GroupName + "/storage"
	// QuotaRunningVCPUs is the number of virtual CPUs of the virtual machines that are powered on or will be powered on.
	QuotaRunningVCPUs = "running." + GroupName + "/vcpus"
	// QuotaRunningMemory is the guest memory of these virtual machines, in bytes.
	QuotaRunningMemory = "running." + GroupName + "/memory"
)
