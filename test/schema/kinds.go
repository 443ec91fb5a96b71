// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package odd

import "fmt"

const (
	namespace = "default"
	machines  = "vm.slipway.dev"
	types     = "instancetype.slipway.dev"
)

// kind is one that is served.
type kind struct {
	group, name, resource string
	cluster               bool
	// valid is what an object has beside its metadata.
	valid string
	// actions are the subresources that are posted to, and what they take.
	actions map[string]string
	// read are the subresources that are read.
	read []string
}

const size = `{"cpu":{"sockets":1},"memory":{"guest":"1Gi"}}`

// machine has an entry in most lists, so that what is tried in one is all that is wrong.
const machine = `{"cpu":{"sockets":1},"memory":{"guest":"1Gi"},"volumes":[{"name":"a","disk":{"size":"1Gi"}}],
	"network":{"interfaces":[{"name":"a"}]},"devices":{"gpus":[{"name":"a","deviceName":"a"}],"hostDevices":[{"name":"a","deviceName":"10de:1eb8"}]}}`

var kinds = []kind{
	{
		group: machines, name: "VirtualMachine", resource: "virtualmachines", valid: `"spec":` + machine, read: []string{"expand-spec"},
		actions: map[string]string{
			"start": "PowerOptions", "stop": "PowerOptions", "restart": "PowerOptions", "suspend": "PowerOptions",
			"refresh-instancetype": "RefreshOptions", "refresh-preference": "RefreshOptions",
		},
	},
	{group: machines, name: "VirtualMachineClass", resource: "virtualmachineclasses", valid: `"spec":` + size},
	{group: machines, name: "VirtualMachineImage", resource: "virtualmachineimages", valid: `"spec":{"template":{"inventoryPath":"a"}}`},
	{group: machines, name: "ClusterVirtualMachineImage", resource: "clustervirtualmachineimages", cluster: true, valid: `"spec":{"template":{"inventoryPath":"a"}}`},
	{group: machines, name: "VirtualMachineInstance", resource: "virtualmachineinstances", valid: `"spec":` + size},
	{group: types, name: "VirtualMachineInstancetype", resource: "virtualmachineinstancetypes", valid: `"spec":{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}`},
	{group: types, name: "VirtualMachineClusterInstancetype", resource: "virtualmachineclusterinstancetypes", cluster: true, valid: `"spec":{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}`},
	{group: types, name: "VirtualMachinePreference", resource: "virtualmachinepreferences", valid: `"spec":{}`},
	{group: types, name: "VirtualMachineClusterPreference", resource: "virtualmachineclusterpreferences", cluster: true, valid: `"spec":{}`},
	{group: types, name: "ControllerRevision", resource: "controllerrevisions", valid: `"revision":1,"data":{"apiVersion":"instancetype.slipway.dev/v1alpha1","kind":"VirtualMachineClusterPreference","metadata":{"name":"x"},"spec":{}}`},
}

func (k kind) base() string { return "/apis/" + k.group + "/v1alpha1" }

// collection is the path of its objects.
func (k kind) collection() string {
	if k.cluster {
		return k.base() + "/" + k.resource
	}
	return k.base() + "/namespaces/" + namespace + "/" + k.resource
}

// object is a valid one, in JSON; meta are more fields of its metadata.
func (k kind) object(name, meta string) string {
	return fmt.Sprintf(`{"apiVersion":"%s/v1alpha1","kind":%q,"metadata":{"name":%q%s},%s}`, k.group, k.name, name, meta, k.valid)
}
