// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-dev/slipway/test/testenv"
)

// pairs are objects that two other objects refer to, for all kinds that have references.
func pairs() string {
	infrastructure := func(kind, name string) string {
		return fmt.Sprintf("infrastructureRef: {apiGroup: vm.slipway.dev, kind: %s, name: %s}", kind, name)
	}
	const data = "bootstrap: {dataSecretName: data}"
	machine := func(name, cluster, vm string) string {
		return testenv.Manifest("cluster", "Machine", name, "clusterName: "+cluster, data, infrastructure("VirtualMachine", vm))
	}
	all := []string{
		testenv.Catalogue, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: data}\nstringData: {format: cloud-config, value: '#cloud-config'}\n",
		testenv.Manifest("vm", "SlipwayCluster", "shared", "controlPlaneEndpoint: {host: shop.example.com, port: 6443}"),
		testenv.Manifest("cluster", "Cluster", "one", infrastructure("SlipwayCluster", "shared")),
		testenv.Manifest("cluster", "Cluster", "two", infrastructure("SlipwayCluster", "shared")),
		testenv.VM("node", "powerState: PoweredOn"), machine("m-1", "one", "node"), machine("m-2", "two", "node"),
		testenv.Manifest("cluster", "Cluster", "of-a-node", infrastructure("VirtualMachine", "node")),
		testenv.Manifest("cluster", "Cluster", "twice", infrastructure("SlipwayCluster", "twice"), "controlPlaneRef: {apiGroup: vm.slipway.dev, kind: SlipwayCluster, name: twice}"),
		testenv.Manifest("vm", "SlipwayCluster", "twice", "controlPlaneEndpoint: {host: shop.example.com, port: 6443}"),
		testenv.Manifest("vm", "VirtualMachineTemplate", "t", "template: {spec: {instancetype: {name: small, kind: VirtualMachineInstancetype}, image: {name: photon-5}}}"),
		testenv.VM("source"), testenv.VM("clone-1", "powerState: PoweredOff"), testenv.VM("clone-2", "powerState: PoweredOff"),
	}
	selector := "selector: {matchLabels: {app: x}}"
	for _, n := range []string{"1", "2"} {
		template := "template: {metadata: {labels: {app: x}}, spec: {clusterName: one, " + data + ", " + infrastructure("VirtualMachineTemplate", "t") + "}}"
		all = append(all,
			testenv.Manifest("cluster", "MachineSet", "set-"+n, "clusterName: one", "replicas: 1", selector, template),
			testenv.Manifest("cluster", "MachineDeployment", "deployment-"+n, "clusterName: one", "replicas: 1", selector, template),
			testenv.Manifest("vm", "VirtualMachineSnapshot", "snapshot-"+n, "vmName: source"),
			testenv.Manifest("vm", "VirtualMachineGroup", "group-"+n, "bootOrder: [{members: [{name: clone-1}, {name: clone-2}, {kind: VirtualMachineGroup, name: group-"+map[string]string{"1": "2", "2": "1"}[n]+"}]}]"),
		)
	}
	// Both find the Machine unhealthy, for different reasons.
	all = append(all, testenv.Manifest("cluster", "Cluster", "alone", "paused: false"), testenv.VM("cp"), machine("cp", "alone", "cp"))
	for name, condition := range map[string]string{"check-1": "NodeReady", "check-2": "NodeHealthy"} {
		unhealthy := fmt.Sprintf("checks: {unhealthyMachineConditions: [{type: %[1]s, status: 'False', timeoutSeconds: 1}, {type: %[1]s, status: Unknown, timeoutSeconds: 1}]}", condition)
		all = append(all, testenv.Manifest("cluster", "MachineHealthCheck", name, "clusterName: alone", "selector: {matchLabels: {check: both}}", unhealthy))
	}
	return strings.Join(all, "")
}

func TestControllers_WriteNothingAboutSharedObjectsOnceSettled(t *testing.T) {
	t.Parallel()
	const quiet = 20 * time.Second
	u := admin(t)
	u.Apply(pairs())
	u.Kubectl("label", "machine.cluster.slipway.dev/cp", "check=both", "cluster.x-k8s.io/control-plane=")
	versions := func() []string {
		out := u.Kubectl("get", "clusters.cluster.slipway.dev,machines.cluster.slipway.dev,machinesets.cluster.slipway.dev,machinedeployments.cluster.slipway.dev,"+
			"machinehealthchecks.cluster.slipway.dev,slipwayclusters,vm,vmi,virtualmachinegroups,virtualmachinesnapshots", "-o",
			`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
		return strings.Split(strings.TrimSpace(out), "\n")
	}
	testenv.Eventually(t, testenv.Long, "the checks find the Machine unhealthy", func() error {
		if got := u.Get("machine.cluster.slipway.dev/cp", `.status.conditions[?(@.type=="HealthCheckSucceeded")].status`); got != "False" {
			return fmt.Errorf("HealthCheckSucceeded is %q", got)
		}
		return nil
	})
	var changed []string
	testenv.Eventually(t, 3*time.Minute, "the objects settle", func() error {
		before := versions()
		<-time.After(quiet)
		changed = slices.DeleteFunc(versions(), func(line string) bool { return slices.Contains(before, line) })
		if len(changed) > 0 {
			return fmt.Errorf("written within %s: %s", quiet, strings.Join(changed, ", "))
		}
		return nil
	})
}
