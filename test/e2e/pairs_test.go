// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// manifestOf is a manifest of a kind in one of the groups; lines are its spec.
func manifestOf(group, kind, name string, lines ...string) string {
	return fmt.Sprintf("---\napiVersion: %s.slipway.dev/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n  %s\n", group, kind, name, strings.Join(lines, "\n  "))
}

// pairs are objects that two others refer to, for all kinds that refer to others.
func pairs() string {
	infrastructure := func(kind, name string) string {
		return fmt.Sprintf("infrastructureRef: {apiGroup: vm.slipway.dev, kind: %s, name: %s}", kind, name)
	}
	const data = "bootstrap: {dataSecretName: data}"
	machine := func(name, cluster, vm string) string {
		return manifestOf("cluster", "Machine", name, "clusterName: "+cluster, data, infrastructure("VirtualMachine", vm))
	}
	all := []string{
		catalogue, "---\napiVersion: v1\nkind: Secret\nmetadata: {name: data}\nstringData: {format: cloud-config, value: '#cloud-config'}\n",
		manifestOf("vm", "SlipwayCluster", "shared", "controlPlaneEndpoint: {host: shop.example.com, port: 6443}"),
		manifestOf("cluster", "Cluster", "one", infrastructure("SlipwayCluster", "shared")),
		manifestOf("cluster", "Cluster", "two", infrastructure("SlipwayCluster", "shared")),
		vmManifest("node", "powerState: PoweredOn"), machine("m-1", "one", "node"), machine("m-2", "two", "node"),
		manifestOf("cluster", "Cluster", "of-a-node", infrastructure("VirtualMachine", "node")),
		manifestOf("cluster", "Cluster", "twice", infrastructure("SlipwayCluster", "twice"), "controlPlaneRef: {apiGroup: vm.slipway.dev, kind: SlipwayCluster, name: twice}"),
		manifestOf("vm", "SlipwayCluster", "twice", "controlPlaneEndpoint: {host: shop.example.com, port: 6443}"),
		manifestOf("vm", "VirtualMachineTemplate", "t", "template: {spec: {instancetype: {name: small, kind: VirtualMachineInstancetype}, image: {name: photon-5}}}"),
		vmManifest("source"), vmManifest("clone-1", "powerState: PoweredOff"), vmManifest("clone-2", "powerState: PoweredOff"),
	}
	selector := "selector: {matchLabels: {app: x}}"
	for _, n := range []string{"1", "2"} {
		template := "template: {metadata: {labels: {app: x}}, spec: {clusterName: one, " + data + ", " + infrastructure("VirtualMachineTemplate", "t") + "}}"
		all = append(all,
			manifestOf("cluster", "MachineSet", "set-"+n, "clusterName: one", "replicas: 1", selector, template),
			manifestOf("cluster", "MachineDeployment", "deployment-"+n, "clusterName: one", "replicas: 1", selector, template),
			manifestOf("vm", "VirtualMachineSnapshot", "snapshot-"+n, "vmName: source"),
			manifestOf("vm", "VirtualMachineGroup", "group-"+n, "bootOrder: [{members: [{name: clone-1}, {name: clone-2}, {kind: VirtualMachineGroup, name: group-"+map[string]string{"1": "2", "2": "1"}[n]+"}]}]"),
		)
	}
	// Both find the Machine unhealthy, each for a reason of its own.
	all = append(all, manifestOf("cluster", "Cluster", "alone", "paused: false"), vmManifest("cp"), machine("cp", "alone", "cp"))
	for name, condition := range map[string]string{"check-1": "NodeReady", "check-2": "NodeHealthy"} {
		unhealthy := fmt.Sprintf("checks: {unhealthyMachineConditions: [{type: %[1]s, status: 'False', timeoutSeconds: 1}, {type: %[1]s, status: Unknown, timeoutSeconds: 1}]}", condition)
		all = append(all, manifestOf("cluster", "MachineHealthCheck", name, "clusterName: alone", "selector: {matchLabels: {check: both}}", unhealthy))
	}
	return strings.Join(all, "")
}

func TestControllers_WriteNothingAboutSharedObjectsOnceSettled(t *testing.T) {
	t.Parallel()
	const quiet = 20 * time.Second
	u := admin(t)
	u.apply(pairs())
	u.kubectl("label", "machine.cluster.slipway.dev/cp", "check=both", "cluster.x-k8s.io/control-plane=")
	versions := func() []string {
		out := u.kubectl("get", "clusters.cluster.slipway.dev,machines.cluster.slipway.dev,machinesets.cluster.slipway.dev,machinedeployments.cluster.slipway.dev,"+
			"machinehealthchecks.cluster.slipway.dev,slipwayclusters,vm,vmi,virtualmachinegroups,virtualmachinesnapshots", "-o",
			`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
		return strings.Split(strings.TrimSpace(out), "\n")
	}
	eventually(t, long, "the checks find the Machine unhealthy", func() error {
		if got := u.get("machine.cluster.slipway.dev/cp", `.status.conditions[?(@.type=="HealthCheckSucceeded")].status`); got != "False" {
			return errorf("HealthCheckSucceeded is %q", got)
		}
		return nil
	})
	var changed []string
	eventually(t, 3*time.Minute, "the objects settle", func() error {
		before := versions()
		<-time.After(quiet)
		changed = slices.DeleteFunc(versions(), func(line string) bool { return slices.Contains(before, line) })
		if len(changed) > 0 {
			return errorf("written within %s: %s", quiet, strings.Join(changed, ", "))
		}
		return nil
	})
}
