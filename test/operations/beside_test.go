// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/testenv"
)

// foreignKind is a definition with the group and the names of another project.
const foreignKind = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.%[1]s}
spec:
  group: %[1]s
  scope: Namespaced
  names: {plural: %[2]s, singular: %[3]s, kind: %[4]s, shortNames: [%[5]s]}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
`

// The definitions have the names of KubeVirt, VM Operator and Cluster API.
func TestShortNames_OfSlipwayWorkBesideOtherProjects(t *testing.T) {
	dir := devDir(t)
	slipwayDev(t, dir, "up", "--no-quickstart")
	u := testenv.AsAdmin(t, localcluster.AdminKubeconfig(dir))
	var definitions strings.Builder
	var names []string
	for _, kind := range [][5]string{
		{"kubevirt.io", "virtualmachines", "virtualmachine", "VirtualMachine", "vm, vms"},
		{"kubevirt.io", "virtualmachineinstances", "virtualmachineinstance", "VirtualMachineInstance", "vmi, vmis"},
		{"instancetype.kubevirt.io", "virtualmachineinstancetypes", "virtualmachineinstancetype", "VirtualMachineInstancetype", "vmf, vmfs"},
		{"vmoperator.vmware.com", "virtualmachines", "virtualmachine", "VirtualMachine", "vm"},
		{"vmoperator.vmware.com", "virtualmachineclasses", "virtualmachineclass", "VirtualMachineClass", "vmclass"},
		{"cluster.x-k8s.io", "machines", "machine", "Machine", "ma"},
		{"cluster.x-k8s.io", "machinedeployments", "machinedeployment", "MachineDeployment", "md"},
	} {
		fmt.Fprintf(&definitions, foreignKind, kind[0], kind[1], kind[2], kind[3], kind[4])
		names = append(names, "customresourcedefinition/"+kind[1]+"."+kind[0])
	}
	u.Apply(definitions.String())
	u.Meets("Established", names...)

	_, warning, err := u.Try("", "kubectl", "get", "vm")
	if want := `could also match lower priority resource virtualmachines.vm.slipway.dev`; err != nil || !strings.Contains(warning, want) {
		t.Errorf("kubectl get vm: %v, %q; want a warning with %q", err, warning, want)
	}
	for resource, short := range map[string]string{
		"virtualmachines": "svm", "virtualmachineinstances": "svmi", "virtualmachineclasses": "svmclass",
		"virtualmachineinstancetypes": "svmf", "machines": "sma", "machinedeployments": "smd",
	} {
		m, err := testenv.Mapping(u.Kubeconfig, short)
		if err != nil || m.Resource.Resource != resource || !strings.HasSuffix(m.Resource.Group, ".slipway.dev") {
			t.Errorf("%s is %+v, %v; want %s of Slipway", short, m, err, resource)
		}
		if _, warning, err := u.Try("", "kubectl", "get", short, "--ignore-not-found"); err != nil || strings.Contains(warning, "could also match") {
			t.Errorf("kubectl get %s: %v, %s", short, err, warning)
		}
	}
}
