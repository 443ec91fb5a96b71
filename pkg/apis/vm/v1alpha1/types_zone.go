// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DefaultZone is the name of the Zone that the server's flags describe as long as there is
// no object of that name. Virtual machines from before there were zones are in it.
const DefaultZone = "default"

// ZoneFinalizer keeps a Zone while virtual machines are in it.
const ZoneFinalizer = "vm.slipway.dev/zone"

// Zone is a place in a vCenter that virtual machines go to: a failure domain.
//
// +genclient
// +genclient:nonNamespaced
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type Zone struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`

	// spec says what the zone is made of.
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

// ZoneSpec says what a zone is made of. Objects of vSphere are given by name, if only one
// of the datacenter has it, or by inventory path.
type ZoneSpec struct {
	// vCenter names the VCenter. Defaults to default. Immutable.
	// +optional
	VCenter string `json:"vCenter,omitempty" protobuf:"bytes,1,opt,name=vCenter"`
	// datacenter of all that the zone names. The only one of the vCenter when unset.
	// Immutable once set.
	// +optional
	Datacenter string `json:"datacenter,omitempty" protobuf:"bytes,2,opt,name=datacenter"`
	// cluster is the cluster, or the host without one, whose root resource pool virtual
	// machines go to. Exactly one of cluster and resourcePools is set.
	// +optional
	Cluster string `json:"cluster,omitempty" protobuf:"bytes,3,opt,name=cluster"`
	// resourcePools are the resource pools that virtual machines go to, at most 32.
	// +optional
	// +listType=set
	ResourcePools []string `json:"resourcePools,omitempty" protobuf:"bytes,4,rep,name=resourcePools"`
	// folder that virtual machines are made in; a folder of each namespace is made below
	// it. Immutable.
	// +required
	Folder string `json:"folder" protobuf:"bytes,5,opt,name=folder"`
	// networks are the networks that interfaces can name, at most 256.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +patchMergeKey=name
	// +patchStrategy=merge
	Networks []ZoneNetwork `json:"networks,omitempty" patchStrategy:"merge" patchMergeKey:"name" protobuf:"bytes,6,rep,name=networks"`
	// defaultNetwork names the one of networks that an interface is in which names none.
	// +optional
	DefaultNetwork string `json:"defaultNetwork,omitempty" protobuf:"bytes,7,opt,name=defaultNetwork"`
	// storage says on which datastores virtual machines are.
	// +optional
	Storage ZoneStorage `json:"storage" protobuf:"bytes,8,opt,name=storage"`
	// devices are the vGPU profiles and pass-through devices that virtual machines may
	// have, at most 256. None when unset.
	// +optional
	// +listType=map
	// +listMapKey=deviceName
	Devices []ZoneDevice `json:"devices,omitempty" protobuf:"bytes,9,rep,name=devices"`
	// namespaceSelector selects the namespaces whose virtual machines can be in the zone,
	// by their labels; kubernetes.io/metadata.name is their name. All when unset.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,10,opt,name=namespaceSelector"`
}

// ZoneNetwork is a network of a zone under the name that virtual machines know it by in
// every zone.
type ZoneNetwork struct {
	// name that interfaces give.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// network is the standard or distributed port group or opaque network.
	// +required
	Network string `json:"network" protobuf:"bytes,2,opt,name=network"`
	// namespaceSelector selects the namespaces that may use it. All when unset.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,3,opt,name=namespaceSelector"`
}

// ZoneDevice is a device that virtual machines of a zone may have.
type ZoneDevice struct {
	// deviceName is the vGPU profile, or vendor:device in hexadecimal.
	// +required
	DeviceName string `json:"deviceName" protobuf:"bytes,1,opt,name=deviceName"`
	// namespaceSelector selects the namespaces that may use it. All when unset.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty" protobuf:"bytes,2,opt,name=namespaceSelector"`
}

// ZoneStorage says on which datastores virtual machines of a zone are: those that are
// compatible with a storage policy, those that are named, or those of both.
type ZoneStorage struct {
	// policy is the storage policy, by name, of what has no storage class.
	// +optional
	Policy string `json:"policy,omitempty" protobuf:"bytes,1,opt,name=policy"`
	// datastores are the datastores and datastore clusters, at most 64. Without a policy
	// the one with the most free space is taken.
	// +optional
	// +listType=set
	Datastores []string `json:"datastores,omitempty" protobuf:"bytes,2,rep,name=datastores"`
	// classes say what a StorageClass of the cluster is in this zone, if it is another
	// thing than its parameters say; at most 64.
	// +optional
	// +listType=map
	// +listMapKey=name
	Classes []ZoneStorageClass `json:"classes,omitempty" protobuf:"bytes,3,rep,name=classes"`
}

// ZoneStorageClass is what a StorageClass is in a zone.
type ZoneStorageClass struct {
	// name of the StorageClass.
	// +required
	Name string `json:"name" protobuf:"bytes,1,opt,name=name"`
	// policy is the storage policy, by name. That of the class's parameters when unset.
	// +optional
	Policy string `json:"policy,omitempty" protobuf:"bytes,2,opt,name=policy"`
	// datastores that may be used, of those that the policy leaves. Those of the zone
	// when unset.
	// +optional
	// +listType=set
	Datastores []string `json:"datastores,omitempty" protobuf:"bytes,3,rep,name=datastores"`
}

// ZoneStatus is the observed state of a zone.
type ZoneStatus struct {
	// conditions are the observations in detail: Ready and Deleting.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +patchMergeKey=type
	// +patchStrategy=merge
	Conditions []metav1.Condition `json:"conditions,omitempty" patchStrategy:"merge" patchMergeKey:"type" protobuf:"bytes,5,rep,name=conditions"`
	// observedGeneration is the generation of spec that this is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty" protobuf:"varint,6,opt,name=observedGeneration"`
	// capacity is what the hosts and datastores of the zone have.
	// +optional
	Capacity *ZoneResources `json:"capacity,omitempty" protobuf:"bytes,1,opt,name=capacity"`
	// free is what is not in use of it.
	// +optional
	Free *ZoneResources `json:"free,omitempty" protobuf:"bytes,2,opt,name=free"`
	// hosts is the number of hosts that virtual machines can run on now.
	// +optional
	Hosts int32 `json:"hosts,omitempty" protobuf:"varint,3,opt,name=hosts"`
	// virtualMachines is the number of objects whose virtual machines are in the zone.
	// +optional
	VirtualMachines int32 `json:"virtualMachines,omitempty" protobuf:"varint,4,opt,name=virtualMachines"`
}

// ZoneResources are amounts of what a zone has.
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
