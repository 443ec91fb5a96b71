// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultZone is the name of the Zone that the server's flags describe if no object of that name exists. Virtual
// machines that were created without zones are in it.
const DefaultZone = "default"

// ZoneFinalizer blocks the deletion of a Zone while it has virtual machines.
const ZoneFinalizer = "vm.slipway.dev/zone"

// Zone is a failure domain: a part of a vCenter in which virtual machines are placed.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Zone struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec describes the vSphere resources of the zone.
	// +required
	Spec ZoneSpec `json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"`
	// status is the observed state.
	// +optional
	Status ZoneStatus `json:"status,omitempty" protobuf:"bytes,3,opt,name=status"`
}

// ZoneList is a list of Zones.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type ZoneList struct {
	metav1.TypeMeta `json:",inline"`
	// Standard list metadata.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// items are the zones.
	Items []Zone `json:"items" protobuf:"bytes,2,rep,name=items"`
}

// ZoneSpec describes the vSphere resources of a zone. A vSphere object is specified by inventory path, or by name if
// the name is unique in the datacenter.
type ZoneSpec struct {
	// vCenter is the name of the VCenter. Defaults to default. Immutable.
	// +optional
	VCenter string `json:"vCenter,omitempty" protobuf:"bytes,1,opt,name=vCenter"`
	// datacenter that contains all objects of the zone. Defaults to the only datacenter of the vCenter. Immutable once
	// set.
	// +optional
	Datacenter string `json:"datacenter,omitempty" protobuf:"bytes,2,opt,name=datacenter"`
	// cluster is the cluster or standalone host whose root resource pool is used for virtual machines. Exactly one of
	// cluster and resourcePools must be set.
	// +optional
	Cluster string `json:"cluster,omitempty" protobuf:"bytes,3,opt,name=cluster"`
	// resourcePools are the resource pools for virtual machines, at most 32.
	// +optional
	// +listType=set
	ResourcePools []string `json:"resourcePools,omitempty" protobuf:"bytes,4,rep,name=resourcePools"`
	// folder in which virtual machines are created, in one subfolder for each namespace. Immutable.
	// +required
	Folder string `json:"folder" protobuf:"bytes,5,opt,name=folder"`
	// networks are the networks that interfaces can use, at most 256.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	Networks []ZoneNetwork `json:"networks,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,6,rep,name=networks"`
	// defaultNetwork is the network used by interfaces that do not specify one. It must be listed in networks.
	// +optional
	DefaultNetwork string `json:"defaultNetwork,omitempty" protobuf:"bytes,7,opt,name=defaultNetwork"`
	// storage defines the datastores for virtual machines.
	// +optional
	Storage ZoneStorage `json:"storage" protobuf:"bytes,8,opt,name=storage"`
	// devices are the vGPU profiles and pass-through devices that virtual machines can use, at most 256. If unset, none
	// is allowed.
	// +optional
	// +listType=map
	// +listMapKey=deviceName
	Devices []ZoneDevice `json:"devices,omitempty" protobuf:"bytes,9,rep,name=devices"`
	// namespaceSelector selects, by label, the namespaces whose virtual machines can use the zone. The label
	// kubernetes.io/metadata.name is the name of a namespace. If unset, all namespaces are selected.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,10,opt,name=namespaceSelector"`
}

// ZoneNetwork is a network of a zone. Virtual machines can refer to it by the same name in every zone.
type ZoneNetwork struct {
	// name that interfaces use to refer to the network.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// network is the vSphere network: a standard port group, a distributed port group or an opaque network.
	// +required
	Network string `json:"network" protobuf:"bytes,2,opt,name=network"`
	// namespaceSelector selects the namespaces that can use the network. If unset, all namespaces are selected.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,3,opt,name=namespaceSelector"`
}

// ZoneDevice is a device that virtual machines of a zone can use.
type ZoneDevice struct {
	// deviceName is the vGPU profile, or the PCI vendor and device ID as vendor:device in hexadecimal.
	// +required
	DeviceName string `json:"deviceName" protobuf:"bytes,1,opt,name=deviceName"`
	// namespaceSelector selects the namespaces that can use the device. If unset, all namespaces are selected.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,2,opt,name=namespaceSelector"`
}

// ZoneStorage defines the datastores for the virtual machines of a zone. If both policy and datastores are set, a
// datastore must match both.
type ZoneStorage struct {
	// policy is the name of the storage policy for disks without a storage class.
	// +optional
	Policy string `json:"policy,omitempty" protobuf:"bytes,1,opt,name=policy"`
	// datastores are the datastores and datastore clusters that can be used, at most 64. If no policy is set, the one
	// with the most free space is used.
	// +optional
	// +listType=set
	Datastores []string `json:"datastores,omitempty" protobuf:"bytes,2,rep,name=datastores"`
	// classes override the parameters of StorageClasses in this zone. At most 64.
	// +optional
	// +listType=map
	// +listMapKey=name
	Classes []ZoneStorageClass `json:"classes,omitempty" protobuf:"bytes,3,rep,name=classes"`
}

// ZoneStorageClass overrides the parameters of a StorageClass in a zone.
type ZoneStorageClass struct {
	// name of the StorageClass.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// policy is the name of the storage policy. Defaults to the policy in the parameters of the StorageClass.
	// +optional
	Policy string `json:"policy,omitempty" protobuf:"bytes,2,opt,name=policy"`
	// datastores that can be used, if they are compatible with the policy. Defaults to the datastores of the zone.
	// +optional
	// +listType=set
	Datastores []string `json:"datastores,omitempty" protobuf:"bytes,3,rep,name=datastores"`
}

// ZoneStatus is the observed state of a zone.
type ZoneStatus struct {
	// conditions are the conditions of the zone: Ready and Deleting.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,5,rep,name=conditions"`
	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,6,opt,name=observedGeneration"`
	// capacity is the total capacity of the zone's hosts and datastores.
	// +optional
	Capacity *ZoneResources `json:"capacity,omitempty" protobuf:"bytes,1,opt,name=capacity"`
	// free is the unused part of the capacity.
	// +optional
	Free *ZoneResources `json:"free,omitempty" protobuf:"bytes,2,opt,name=free"`
	// hosts is the number of hosts on which virtual machines can run now.
	// +optional
	Hosts int32 `json:"hosts,omitempty" protobuf:"varint,3,opt,name=hosts"`
	// virtualMachines is the number of VirtualMachine objects in the zone.
	// +optional
	VirtualMachines int32 `json:"virtualMachines,omitempty" protobuf:"varint,4,opt,name=virtualMachines"`
}

// ZoneResources are amounts of a zone's resources.
type ZoneResources struct {
	// cpu in hertz.
	// +optional
	CPU *resource.Quantity `json:"cpu,omitempty" protobuf:"bytes,1,opt,name=cpu"`
	// memory in bytes.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty" protobuf:"bytes,2,opt,name=memory"`
	// storage in bytes.
	// +optional
	Storage *resource.Quantity `json:"storage,omitempty" protobuf:"bytes,3,opt,name=storage"`
}
