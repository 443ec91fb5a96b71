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
	// One finds Machines without a Node unhealthy, the other never does.
	return strings.Join(append(all,
		manifestOf("cluster", "MachineHealthCheck", "check-1", "clusterName: one", selector, "checks: {nodeStartupTimeoutSeconds: 30}", "remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 0}}"),
		manifestOf("cluster", "MachineHealthCheck", "check-2", "clusterName: one", selector, "checks: {nodeStartupTimeoutSeconds: 0}", "remediation: {triggerIf: {unhealthyLessThanOrEqualTo: 0}}"),
	), "")
}

func TestControllers_WriteNothingAboutSharedObjectsOnceSettled(t *testing.T) {
	t.Parallel()
	const quiet = 20 * time.Second
	u := admin(t)
	_, _, _ = u.try(pairs(), "kubectl", "apply", "-f", "-")
	versions := func() []string {
		out := u.kubectl("get", "clusters.cluster.slipway.dev,machines.cluster.slipway.dev,machinesets.cluster.slipway.dev,machinedeployments.cluster.slipway.dev,"+
			"machinehealthchecks.cluster.slipway.dev,slipwayclusters,vm,vmi,virtualmachinegroups,virtualmachinesnapshots", "-o",
			`jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
		return strings.Split(strings.TrimSpace(out), "\n")
	}
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
