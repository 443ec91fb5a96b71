// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/slipway-dev/slipway/test/testenv"
)

// Admission policies of the management cluster apply to all kinds of Slipway, in one namespace.
func TestPolicy_OfTheManagementClusterHolds(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.Put(testenv.Catalogue + testenv.VM("web"))
	u.part("for all kinds and subresources", func(t *testing.T, u user) { u.judgesAllKinds(t, u.police(judging)) })
	u.part("for virtual machines and their subresources", func(t *testing.T, u user) {
		u.police(policies)
		u.holdsForVirtualMachines(t)
	})
	u.part("for the scale of machines", func(_ *testing.T, u user) {
		u.police(smallScale)
		u.holdsForScale()
	})
	u.part("for objects that controllers create from templates", func(t *testing.T, u user) {
		u.police(refusing)
		u.holdsForTemplates(t)
	})
	u.part("of the example", func(_ *testing.T, u user) { u.holdsOfTheExample() })
}

// police creates a policy for the namespace until the subtest ends, and returns its name.
func (u user) police(policy string) string {
	u.T.Helper()
	name := u.Namespace + "-" + rand.String(3)
	u.RemoveAtEnd("validatingadmissionpolicybinding/"+name, "validatingadmissionpolicy/"+name)
	u.Put(fmt.Sprintf(policy, name, u.Namespace))
	return name
}

// policies are formatted with their name and the namespace.
const policies = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
    resourceRules:
    - apiGroups: [vm.slipway.dev]
      apiVersions: ["*"]
      operations: [CREATE, UPDATE]
      resources: [virtualmachines, virtualmachines/refresh-instancetype]
  validations:
  - expression: "has(request.subResource) || !has(object.spec.cpu) || object.spec.cpu.sockets <= 2"
    messageExpression: "'at most 2 sockets here, not ' + string(object.spec.cpu.sockets)"
  - expression: "!has(request.subResource) || has(object.dryRun)"
    message: "sizes are refreshed by the platform team"
  - expression: >-
      has(request.subResource) || request.operation != 'UPDATE' || !has(object.metadata.labels) || !('frozen' in object.metadata.labels)
      || object.spec.powerState == oldObject.spec.powerState
    message: "a frozen VM keeps its power state"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

func (u user) holdsForVirtualMachines(t *testing.T) {
	u.Ready("vm/web")
	big := testenv.VMWith("big", "cpu: {sockets: 3}", "memory: {guest: 1Gi}")
	u.DeniedAtLast(big, "ValidatingAdmissionPolicy", "at most 2 sockets here, not 3")

	u.Patch("virtualmachineinstancetype/small", `{"spec":{"memory":{"guest":"3Gi"}}}`)
	u.Virtctl("refresh", "instancetype", "web", "--dry-run")
	captured := u.Get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name")
	if _, errOut, err := u.Try("", "virtctl", "refresh", "instancetype", "web"); err == nil || !strings.Contains(errOut, "sizes are refreshed by the platform team") {
		t.Errorf("a refresh that the policy denies: %v %s", err, errOut)
	}
	if got := u.Get("vm/web", ".status.instancetypeRef.controllerRevisionRef.name"); got != captured {
		t.Errorf("the denied refresh changed the revision from %q to %q", captured, got)
	}

	// A power endpoint's change of the VM is an update.
	u.Label("vm/web", "frozen=true")
	if _, errOut, err := u.Try("", "virtctl", "stop", "web", "--mode", "Hard"); err == nil || !strings.Contains(errOut, "a frozen VM keeps its power state") {
		t.Errorf("stopping a VM that the policy freezes: %v %s", err, errOut)
	}
	if got := u.Get("vm/web", ".spec.powerState"); got != "PoweredOn" {
		t.Errorf("the denied stop left spec.powerState %q", got)
	}
	u.Label("vm/web", "frozen-")
	u.Virtctl("stop", "web", "--mode", "Hard")
	u.Wants("vm/web", ".status.powerState", "PoweredOff") // controllers can write status
}

// smallScale is formatted with its name and the namespace.
const smallScale = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
    resourceRules:
    - {apiGroups: [cluster.slipway.dev], apiVersions: ["*"], operations: [UPDATE], resources: [machinedeployments/scale]}
  validations:
  - expression: "object.spec.replicas <= 3 || object.spec.replicas < oldObject.spec.replicas"
    messageExpression: "'at most 3 machines here, not ' + string(object.spec.replicas)"
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`

func (u user) holdsForScale() {
	u.Put(inOurGroup(moved))
	testenv.Eventually(u.T, testenv.Long, "the policy holds", func() error {
		_, errOut, err := u.Try("", "kubectl", "scale", "md/shop-md-0", "--replicas=9", "--dry-run=server")
		if err == nil || !strings.Contains(errOut, "at most 3 machines here, not 9") {
			return fmt.Errorf("kubectl scale: %w %s", err, errOut)
		}
		return nil
	})
	u.Kubectl("scale", "md/shop-md-0", "--replicas=3")
	u.Wants("md/shop-md-0", ".spec.replicas", "3")
}

// refusing returns a policy that refuses objects with two sockets or with the name refused, from every client except
// the server itself. It also returns a binding for the namespace. The name of both contains the namespace.
const refusing = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConditions:
  - {name: not-the-server, expression: "request.userInfo.username != 'system:apiserver'"}
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[2]s}}
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

func (u user) holdsForTemplates(t *testing.T) {
	u.DeniedAtLast(testenv.VMWith("big", "cpu: {sockets: 2}", "memory: {guest: 1Gi}"), "one socket here, ")
	const selector, data, cluster = "selector: {matchLabels: {app: x}}", "bootstrap: {dataSecretName: data}", "clusterName: one"
	infrastructure := func(kind, name string) string {
		return fmt.Sprintf("infrastructureRef: {apiGroup: vm.slipway.dev, kind: %s, name: %s}", kind, name)
	}
	template := func(version string) string {
		return "template: {metadata: {labels: {app: x}}, spec: {clusterName: one, version: " + version + ", " + data + ", " + infrastructure("VirtualMachineTemplate", "big") + "}}"
	}
	u.Put(testenv.Manifest("cluster", "Cluster", "one", infrastructure("SlipwayCluster", "one")) + testenv.Manifest("vm", "SlipwayCluster", "one", "controlPlaneEndpoint: {host: shop.example.com, port: 6443}") +
		testenv.Manifest("vm", "VirtualMachineTemplate", "big", "template: {spec: {cpu: {sockets: 2}, memory: {guest: 1Gi}, image: {name: photon-5}}}") +
		testenv.Manifest("cluster", "MachineSet", "set", cluster, "replicas: 1", selector, template("v1.36.0")) +
		testenv.Manifest("cluster", "MachineDeployment", "deployment", cluster, "replicas: 1", selector, template("v1.36.1")) +
		testenv.VM("node", "powerState: PoweredOff") + testenv.Manifest("cluster", "Machine", "sick", cluster, data, infrastructure("VirtualMachine", "node")) +
		testenv.Manifest("cluster", "MachineHealthCheck", "check", cluster, "selector: {matchLabels: {sick: 'true'}}", "checks: {nodeStartupTimeoutSeconds: 0}",
			"remediation: {templateRef: {apiVersion: vm.slipway.dev/v1alpha1, kind: VirtualMachineTemplate, name: big}}"))
	u.Label("machine.cluster.slipway.dev/sick", "sick=true")
	u.Annotate("machine.cluster.slipway.dev/sick", "cluster.x-k8s.io/remediate-machine=")
	for object, want := range map[string]string{
		"machineset.cluster.slipway.dev/set":               "one socket here, system:slipway:machineset-controller",
		"machinedeployment.cluster.slipway.dev/deployment": "no v1.36.1 here, system:slipway:machinedeployment-controller",
	} {
		testenv.Eventually(t, testenv.Long, object+" reports the answer", func() error {
			if got := u.Get(object, ".status.conditions"); !strings.Contains(got, want) {
				return fmt.Errorf("its conditions are %s, want %q", got, want)
			}
			return nil
		})
	}
	testenv.Eventually(t, testenv.Long, "the request of the health check is refused", func() error {
		if got := u.Get("machine.cluster.slipway.dev/sick", ".status.conditions"); !strings.Contains(got, "Creating VirtualMachine sick failed") {
			return fmt.Errorf("its conditions are %s", got)
		}
		return nil
	})
	for _, name := range strings.Fields(u.Get("vm", ".items[*].metadata.name")) {
		if name == "sick" || strings.HasPrefix(name, "set-") || strings.HasPrefix(name, "deployment-") {
			t.Errorf("there is virtual machine %s of a controller", name)
		}
	}
}

func (u user) holdsOfTheExample() {
	example, err := os.ReadFile("../../artifacts/examples/quota.yaml")
	if err != nil {
		u.T.Fatal(err)
	}
	u.RemoveAtEnd("validatingadmissionpolicybinding/"+u.Namespace, "validatingadmissionpolicy/"+u.Namespace)
	u.Put(strings.NewReplacer("vm-sizes", u.Namespace, "team-a", u.Namespace).Replace(string(example)))
	for _, manifest := range []string{
		testenv.VMWith("big", "cpu: {sockets: 9}", "memory: {guest: 1Gi}"),
		testenv.Manifest("vm", "VirtualMachineTemplate", "huge", "template: {spec: {cpu: {sockets: 9}, memory: {guest: 1Gi}, image: {name: photon-5}}}"),
	} {
		u.DeniedAtLast(manifest, "at most 8 sockets, not 9")
	}
	u.DeniedAtLast(testenv.VMWith("big", "cpu: {sockets: 8, cores: 8}", "memory: {guest: 4Gi}", "bootDisk: {size: 20Gi}"),
		"exceeded quota: team, requested: running.vm.slipway.dev/vcpus=64", "limited: running.vm.slipway.dev/vcpus=32")
}
