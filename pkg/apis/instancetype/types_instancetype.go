// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package instancetype

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineInstancetype is a size for virtual machines of its own
// namespace: vCPUs, memory and what goes with them. A virtual machine that
// names it takes these values and must not set them itself.
type VirtualMachineInstancetype struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// spec is the size. It may be changed at any time: virtual machines keep the
	// revision they captured until they are refreshed.
	Spec VirtualMachineInstancetypeSpec
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineInstancetypeList is a list of VirtualMachineInstancetype.
type VirtualMachineInstancetypeList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// items are the instance types.
	Items []VirtualMachineInstancetype
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineClusterInstancetype is a size for virtual machines of every
// namespace.
type VirtualMachineClusterInstancetype struct {
	metav1.TypeMeta
	// Standard object metadata.
	metav1.ObjectMeta

	// spec is the size. It may be changed at any time: virtual machines keep the
	// revision they captured until they are refreshed.
	Spec VirtualMachineInstancetypeSpec
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineClusterInstancetypeList is a list of
// VirtualMachineClusterInstancetype.
type VirtualMachineClusterInstancetypeList struct {
	metav1.TypeMeta
	// Standard list metadata.
	metav1.ListMeta

	// items are the instance types.
	Items []VirtualMachineClusterInstancetype
}

// VirtualMachineInstancetypeSpec is what an instance type prescribes. A virtual
// machine that sets one of these values too is in conflict with it.
type VirtualMachineInstancetypeSpec struct {
	// nodeSelector restricts the hosts on which the virtual machine may run to
	// those that carry all these labels.
	NodeSelector map[string]string

	// schedulerName names the scheduler that places the virtual machine. It is
	// stored for compatibility and has no meaning on vSphere.
	SchedulerName string

	// cpu is the number of vCPUs and how they are provided.
	CPU CPUInstancetype

	// memory is the amount of memory and how it is provided.
	Memory MemoryInstancetype

	// gpus are the GPUs given to the virtual machine, by profile or device name.
	GPUs []GPU

	// hostDevices are devices of the host passed through to the virtual machine.
	HostDevices []HostDevice

	// ioThreads sets the number of I/O threads. It is stored for compatibility
	// and has no meaning on vSphere.
	IOThreads *DiskIOThreads

	// ioThreadsPolicy says how disks share I/O threads: shared, auto or
	// supplementalPool. It is stored for compatibility and has no meaning on
	// vSphere.
	IOThreadsPolicy *IOThreadsPolicy

	// launchSecurity asks for memory encryption and attestation at launch.
	// Deprecated: set preferredLaunchSecurity of a preference.
	LaunchSecurity *LaunchSecurity

	// annotations are added to the running instance. A virtual machine that sets
	// the same key to another value is in conflict with the instance type.
	Annotations map[string]string
}
