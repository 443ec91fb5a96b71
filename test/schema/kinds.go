// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package schema

import "fmt"

const (
	machines = "vm.slipway.dev"
	types    = "instancetype.slipway.dev"
	clusters = "cluster.slipway.dev"
)

// Kind is a served kind.
type Kind struct {
	// Group is the API group. Name and Resource are those of the kind.
	Group, Name, Resource string
	// Cluster is true for kinds without namespaces.
	Cluster bool
	// Valid is the content of an object without its metadata.
	Valid string
	// Actions are the subresources that accept POST, and the kinds of their bodies.
	Actions map[string]string
	// Read are the subresources that accept GET.
	Read []string
	// Only is the only name that an object may have. It is empty if any name is allowed.
	Only string
	// Status is true for a kind with a status subresource.
	Status bool
}

const size = `{"cpu":{"sockets":1},"memory":{"guest":"1Gi"}}`

// machine has an entry in most lists, so that a tested value is its only problem.
const machine = `{"cpu":{"sockets":1},"memory":{"guest":"1Gi"},"volumes":[{"name":"a","disk":{"size":"1Gi"}}],
	"network":{"interfaces":[{"name":"a"}]},"devices":{"gpus":[{"name":"a","deviceName":"a"}],"hostDevices":[{"name":"a","deviceName":"10de:1eb8"}]}}`

const zone = `{"cluster":"a","folder":"a","storage":{"datastores":["a"],"classes":[{"name":"a","datastores":["a"]}]},
	"networks":[{"name":"a","network":"a"}],"devices":[{"deviceName":"10de:1eb8"}]}`

// member is a machine of a cluster. of is the kind of its template, or its own kind.
func member(of string) string {
	return `{"clusterName":"a","bootstrap":{"dataSecretName":"a"},"infrastructureRef":{"apiGroup":"vm.slipway.dev","kind":"` + of + `","name":"a"},
	"readinessGates":[{"conditionType":"a"}],"taints":[{"key":"a","effect":"NoSchedule","propagation":"Always"}]}`
}

const selector = `{"matchLabels":{"a":"a"},"matchExpressions":[{"key":"a","operator":"In","values":["a"]}]}`

// members are the kinds that create VMs.
var members = `"spec":{"clusterName":"a","selector":` + selector + `,"template":{"metadata":{"labels":{"a":"a"}},"spec":` + member("VirtualMachineTemplate") + `}}`

// Kinds are all served kinds.
var Kinds = []Kind{
	{
		Group: machines, Name: "VirtualMachine", Resource: "virtualmachines", Status: true, Valid: `"spec":` + machine, Read: []string{"expand-spec", "screenshot"},
		Actions: map[string]string{
			"start": "PowerOptions", "stop": "PowerOptions", "restart": "PowerOptions", "suspend": "PowerOptions",
			"refresh-instancetype": "RefreshOptions", "refresh-preference": "RefreshOptions",
			"console": "VirtualMachineConsole",
		},
	},
	{Group: machines, Name: "VirtualMachineClass", Resource: "virtualmachineclasses", Valid: `"spec":` + size},
	{Group: machines, Name: "VirtualMachineImage", Resource: "virtualmachineimages", Status: true, Valid: `"spec":{"template":{"inventoryPath":"a"}}`},
	{Group: machines, Name: "ClusterVirtualMachineImage", Resource: "clustervirtualmachineimages", Cluster: true, Status: true, Valid: `"spec":{"template":{"inventoryPath":"a"}}`},
	{Group: machines, Name: "VCenter", Resource: "vcenters", Cluster: true, Only: "default", Status: true, Valid: `"spec":{"url":"https://a/sdk","credentialsSecretRef":{"name":"a"}}`},
	{Group: machines, Name: "ContentLibrary", Resource: "contentlibraries", Cluster: true, Status: true, Valid: `"spec":{"library":"a","include":["a"],"defaults":[{"guestID":"a","preference":"a"}]}`},
	{Group: machines, Name: "VirtualMachineImageCache", Resource: "virtualmachineimagecaches", Cluster: true, Status: true, Valid: `"spec":{"contentLibrary":{"library":"a","item":"a"},"locations":[{"datastore":"a"}]}`},
	{Group: machines, Name: "VirtualMachinePublishRequest", Resource: "virtualmachinepublishrequests", Status: true, Valid: `"spec":{"source":{"name":"a"},"target":{"contentLibrary":"a"}}`},
	{Group: machines, Name: "VirtualMachineGroup", Resource: "virtualmachinegroups", Status: true, Valid: `"spec":{"bootOrder":[{"members":[{"name":"a"}]}],"placement":{"policy":"Apart","topology":"Zone"}}`},
	{Group: machines, Name: "VirtualMachineSnapshot", Resource: "virtualmachinesnapshots", Status: true, Valid: `"spec":{"vmName":"a"}`},
	{Group: machines, Name: "VirtualMachineTemplate", Resource: "virtualmachinetemplates", Valid: `"spec":{"template":{"spec":` + size + `}}`},
	{Group: machines, Name: "SlipwayCluster", Resource: "slipwayclusters", Status: true, Valid: `"spec":{"controlPlaneEndpoint":{"host":"a","port":1},"zones":["a"]}`},
	{Group: machines, Name: "Zone", Resource: "zones", Cluster: true, Status: true, Valid: `"spec":` + zone},
	{Group: machines, Name: "VirtualMachineInstance", Resource: "virtualmachineinstances", Status: true, Valid: `"spec":` + size},
	{Group: types, Name: "VirtualMachineInstancetype", Resource: "virtualmachineinstancetypes", Valid: `"spec":{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}`},
	{Group: types, Name: "VirtualMachineClusterInstancetype", Resource: "virtualmachineclusterinstancetypes", Cluster: true, Valid: `"spec":{"cpu":{"guest":1},"memory":{"guest":"1Gi"}}`},
	{Group: types, Name: "VirtualMachinePreference", Resource: "virtualmachinepreferences", Valid: `"spec":{}`},
	{Group: types, Name: "VirtualMachineClusterPreference", Resource: "virtualmachineclusterpreferences", Cluster: true, Valid: `"spec":{}`},
	{Group: types, Name: "ControllerRevision", Resource: "controllerrevisions", Valid: `"revision":1,"data":{"apiVersion":"instancetype.slipway.dev/v1alpha1","kind":"VirtualMachineClusterPreference","metadata":{"name":"x"},"spec":{}}`},
	{Group: clusters, Name: "Cluster", Resource: "clusters", Status: true, Valid: `"spec":{"clusterNetwork":{"pods":{"cidrBlocks":["10.0.0.0/8"]}},"infrastructureRef":{"apiGroup":"a","kind":"a","name":"a"}}`},
	{Group: clusters, Name: "Machine", Resource: "machines", Status: true, Valid: `"spec":` + member("VirtualMachine")},
	{Group: clusters, Name: "MachineSet", Resource: "machinesets", Status: true, Read: []string{"scale"}, Valid: members},
	{Group: clusters, Name: "MachineDeployment", Resource: "machinedeployments", Status: true, Read: []string{"scale"}, Valid: members},
	{Group: clusters, Name: "MachineHealthCheck", Resource: "machinehealthchecks", Status: true, Valid: `"spec":{"clusterName":"a","selector":` + selector + `,
		"checks":{"unhealthyNodeConditions":[{"type":"a","status":"True","timeoutSeconds":1}],"unhealthyMachineConditions":[{"type":"a","status":"True","timeoutSeconds":1}]}}`},
	{Group: clusters, Name: "MachineDrainRule", Resource: "machinedrainrules", Valid: `"spec":{"drain":{"behavior":"Drain"},"machines":[{"selector":` + selector + `}],"pods":[{"selector":` + selector + `}]}`},
}

// Base is the path of the group and version.
func (k Kind) Base() string { return "/apis/" + k.Group + "/v1alpha1" }

// Collection is the path of its objects, in the namespace if it has one.
func (k Kind) Collection(namespace string) string {
	if k.Cluster {
		return k.Base() + "/" + k.Resource
	}
	return k.Base() + "/namespaces/" + namespace + "/" + k.Resource
}

// Item is the path of the tested object.
func (k Kind) Item() string {
	if k.Only != "" {
		return k.Only
	}
	return "odd"
}

// Object returns a valid object as JSON. meta are more fields of its metadata.
func (k Kind) Object(name, meta string) string {
	return fmt.Sprintf(`{"apiVersion":"%s/v1alpha1","kind":%q,"metadata":{"name":%q%s},%s}`, k.Group, k.Name, name, meta, k.Valid)
}
