// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// refusing is a policy that refuses what has two sockets or the name refused, whoever writes it except
// the server itself, and a binding for the namespace and under the name that it is formatted with.
const refusing = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConditions:
  - {name: not-the-server, expression: "request.userInfo.username != 'system:apiserver'"}
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
    resourceRules:
    - {apiGroups: [vm.slipway.dev], apiVersions: ["*"], operations: [CREATE], resources: [virtualmachines]}
    - {apiGroups: [cluster.slipway.dev], apiVersions: ["*"], operations: [CREATE], resources: [machinesets]}
  validations:
  - expression: "request.resource.resource != 'virtualmachines' || !has(object.spec.cpu) || object.spec.cpu.sockets <= 1"
    messageExpression: "'one socket here, ' + request.userInfo.username"
  - expression: "request.resource.resource != 'machinesets' || object.spec.template.spec.version != 'v1.36.1'"
    messageExpression: "'no v1.36.1 here, ' + request.userInfo.username"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

func TestPolicy_HoldsForWhatControllersCreateFromTemplates(t *testing.T) {
	t.Parallel()
	u := admin(t)
	clusterObjects(t, "validatingadmissionpolicy/"+u.namespace, "validatingadmissionpolicybinding/"+u.namespace)
	u.apply(catalogue + fmt.Sprintf(refusing, u.namespace))
	eventually(t, long, "the policy holds", func() error {
		_, errOut, err := u.try(vmWith("big", "cpu: {sockets: 2}", "memory: {guest: 1Gi}"), "kubectl", "create", "--dry-run=server", "-f", "-")
		if err == nil || !strings.Contains(errOut, "one socket here, ") {
			return errorf("%v: %s", err, errOut)
		}
		return nil
	})
	const selector, data, cluster = "selector: {matchLabels: {app: x}}", "bootstrap: {dataSecretName: data}", "clusterName: one"
	infrastructure := func(kind, name string) string {
		return fmt.Sprintf("infrastructureRef: {apiGroup: vm.slipway.dev, kind: %s, name: %s}", kind, name)
	}
	template := func(version string) string {
		return "template: {metadata: {labels: {app: x}}, spec: {clusterName: one, version: " + version + ", " + data + ", " + infrastructure("VirtualMachineTemplate", "big") + "}}"
	}
	u.apply(manifestOf("cluster", "Cluster", "one", infrastructure("SlipwayCluster", "one")) + manifestOf("vm", "SlipwayCluster", "one", "controlPlaneEndpoint: {host: shop.example.com, port: 6443}") +
		manifestOf("vm", "VirtualMachineTemplate", "big", "template: {spec: {cpu: {sockets: 2}, memory: {guest: 1Gi}, image: {name: photon-5}}}") +
		manifestOf("cluster", "MachineSet", "set", cluster, "replicas: 1", selector, template("v1.36.0")) +
		manifestOf("cluster", "MachineDeployment", "deployment", cluster, "replicas: 1", selector, template("v1.36.1")) +
		vmManifest("node", "powerState: PoweredOff") + manifestOf("cluster", "Machine", "sick", cluster, data, infrastructure("VirtualMachine", "node")) +
		manifestOf("cluster", "MachineHealthCheck", "check", cluster, "selector: {matchLabels: {sick: 'true'}}", "checks: {nodeStartupTimeoutSeconds: 0}",
			"remediation: {templateRef: {apiVersion: vm.slipway.dev/v1alpha1, kind: VirtualMachineTemplate, name: big}}"))
	u.kubectl("label", "machine.cluster.slipway.dev/sick", "sick=true")
	u.kubectl("annotate", "machine.cluster.slipway.dev/sick", "cluster.x-k8s.io/remediate-machine=")
	for object, want := range map[string]string{
		"machineset.cluster.slipway.dev/set":               "one socket here, system:slipway:machineset-controller",
		"machinedeployment.cluster.slipway.dev/deployment": "no v1.36.1 here, system:slipway:machinedeployment-controller",
	} {
		eventually(t, long, object+" reports the answer", func() error {
			if got := u.get(object, ".status.conditions"); !strings.Contains(got, want) {
				return errorf("its conditions are %s, want %q", got, want)
			}
			return nil
		})
	}
	eventually(t, long, "the request of the health check is refused", func() error {
		if got := u.get("machine.cluster.slipway.dev/sick", ".status.conditions"); !strings.Contains(got, "Creating VirtualMachine sick failed") {
			return errorf("its conditions are %s", got)
		}
		return nil
	})
	if got := u.kubectl("get", "vm", "-o", "jsonpath={.items[*].metadata.name}"); got != "node" {
		t.Errorf("the virtual machines are %q, want only node", got)
	}
}

func TestPolicy_OfTheExampleRefusesTemplatesToo(t *testing.T) {
	t.Parallel()
	u := admin(t)
	example, err := os.ReadFile("../../artifacts/examples/quota.yaml")
	if err != nil {
		t.Fatal(err)
	}
	clusterObjects(t, "validatingadmissionpolicy/"+u.namespace, "validatingadmissionpolicybinding/"+u.namespace)
	u.apply(catalogue)
	own := strings.NewReplacer("vm-sizes", u.namespace, "team-a", u.namespace).Replace(string(example))
	if _, errOut, err := u.try(own, "kubectl", "apply", "-f", "-"); err != nil {
		t.Fatalf("%v: %s", err, errOut)
	}
	for kind, manifest := range map[string]string{
		"a VM":       vmWith("big", "cpu: {sockets: 9}", "memory: {guest: 1Gi}"),
		"a template": manifestOf("vm", "VirtualMachineTemplate", "big", "template: {spec: {cpu: {sockets: 9}, memory: {guest: 1Gi}, image: {name: photon-5}}}"),
	} {
		eventually(t, long, kind+" is refused", func() error {
			_, errOut, err := u.try(manifest, "kubectl", "create", "--dry-run=server", "-f", "-")
			if err == nil || !strings.Contains(errOut, "at most 8 sockets, not 9") {
				return errorf("%v: %s", err, errOut)
			}
			return nil
		})
	}
}
