// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// +genclient
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineInstancetype defines vCPUs, memory and related settings for virtual machines of the same namespace. A
// virtual machine that refers to it uses these values and must not set them itself.
type VirtualMachineInstancetype struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the size. After a change, virtual machines keep using their pinned revision until they are refreshed.
	// +required
	Spec VirtualMachineInstancetypeSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineInstancetypeList is a list of VirtualMachineInstancetype.
type VirtualMachineInstancetypeList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the instance types.
	Items []VirtualMachineInstancetype `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineClusterInstancetype defines vCPUs, memory and related settings for virtual machines of all namespaces.
type VirtualMachineClusterInstancetype struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec defines the size. After a change, virtual machines keep using their pinned revision until they are refreshed.
	// +required
	Spec VirtualMachineInstancetypeSpec `json:"spec" protobuf:"bytes,2,opt,name=spec"`
}

// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object

// VirtualMachineClusterInstancetypeList is a list of
// VirtualMachineClusterInstancetype.
type VirtualMachineClusterInstancetypeList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the instance types.
	Items []VirtualMachineClusterInstancetype `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// VirtualMachineInstancetypeSpec contains the values that an instance type sets. A virtual machine that also sets one
// of them conflicts with the instance type.
type VirtualMachineInstancetypeSpec struct {
	// nodeSelector selects hosts by label. It is stored for compatibility and has no effect because vSphere chooses the
	// host.
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty" protobuf:"bytes,1,rep,name=nodeSelector"`

	// schedulerName is the name of the scheduler. It is stored for compatibility and has no effect on vSphere.
	// +optional
	SchedulerName string `json:"schedulerName,omitempty" protobuf:"bytes,2,opt,name=schedulerName"`

	// cpu defines the vCPUs.
	// +required
	CPU CPUInstancetype `json:"cpu" protobuf:"bytes,3,opt,name=cpu"`

	// memory defines the memory.
	// +required
	Memory MemoryInstancetype `json:"memory" protobuf:"bytes,4,opt,name=memory"`

	// gpus are the GPUs of the virtual machine, by profile or device name.
	// +optional
	// +listType=atomic
	GPUs []GPU `json:"gpus,omitempty" protobuf:"bytes,5,rep,name=gpus"`

	// hostDevices are the host devices that are passed through to the virtual machine.
	// +optional
	// +listType=atomic
	HostDevices []HostDevice `json:"hostDevices,omitempty" protobuf:"bytes,6,rep,name=hostDevices"`

	// ioThreads sets the number of I/O threads. It is stored for compatibility and has no effect on vSphere.
	// +optional
	IOThreads *DiskIOThreads `json:"ioThreads,omitempty" protobuf:"bytes,7,opt,name=ioThreads"`

	// ioThreadsPolicy defines how disks share I/O threads: shared, auto or supplementalPool. It is stored for
	// compatibility and has no effect on vSphere.
	// +optional
	IOThreadsPolicy *IOThreadsPolicy `json:"ioThreadsPolicy,omitempty" protobuf:"bytes,8,opt,name=ioThreadsPolicy,casttype=IOThreadsPolicy"`

	// launchSecurity requests memory encryption and attestation at launch. It is stored for compatibility and has no
	// effect on vSphere. Deprecated: use preferredLaunchSecurity of a preference.
	// +optional
	LaunchSecurity *LaunchSecurity `json:"launchSecurity,omitempty" protobuf:"bytes,9,opt,name=launchSecurity"`

	// annotations are added to the VirtualMachineInstance. A virtual machine that sets the same key to another value
	// conflicts with the instance type.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty" protobuf:"bytes,10,rep,name=annotations"`
}
