// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// moved is written for Cluster API. Its Cluster is paused: what the controllers make of it is
// for other tests.
const moved = `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: shop, labels: {cni: calico}}
spec:
  paused: true
  clusterNetwork:
    apiServerPort: 6443
    services: {cidrBlocks: [10.128.0.0/12]}
    pods: {cidrBlocks: [192.168.0.0/16]}
    serviceDomain: cluster.local
  controlPlaneEndpoint: {host: 10.0.0.10, port: 6443}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: shop}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereCluster, name: shop}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata:
  name: shop-md-0
  annotations:
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-min-size: "2"
    cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size: "5"
spec:
  clusterName: shop
  selector: {matchLabels: {}}
  rollout:
    strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 25%, maxUnavailable: 0}}
  remediation: {maxInFlight: 20%}
  deletion: {order: Oldest}
  machineNaming: {template: "{{ .cluster.name }}-{{ .random }}"}
  template:
    metadata: {labels: {node-role.kubernetes.io/worker: ""}}
    spec:
      clusterName: shop
      version: 1.36.3
      failureDomain: fd1
      minReadySeconds: 10
      bootstrap: {configRef: {apiGroup: bootstrap.cluster.x-k8s.io, kind: KubeadmConfigTemplate, name: shop-md-0}}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: shop-md-0}
      readinessGates: [{conditionType: example.com/Backup, polarity: Negative}]
      deletion: {nodeDrainTimeoutSeconds: 600, nodeVolumeDetachTimeoutSeconds: 300, nodeDeletionTimeoutSeconds: 60}
      taints: [{key: example.com/gpu, value: a100, effect: NoSchedule, propagation: Always}]
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineHealthCheck
metadata: {name: shop-md-0}
spec:
  clusterName: shop
  selector: {matchLabels: {cluster.x-k8s.io/deployment-name: shop-md-0}}
  checks:
    unhealthyNodeConditions: [{type: Ready, status: Unknown, timeoutSeconds: 300}]
    unhealthyMachineConditions: [{type: NodeReady, status: "False", timeoutSeconds: 300}]
  remediation: {triggerIf: {unhealthyInRange: "[1-3]"}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDrainRule
metadata: {name: first}
spec:
  drain: {behavior: Drain, order: -10}
  machines: [{selector: {matchLabels: {os: linux}}, clusterSelector: {matchLabels: {stage: production}}}]
  pods: [{selector: {matchLabels: {app: web}}, namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: web}}}]
`

func TestManifestsOfClusterAPIMoveByTheirAPIVersion(t *testing.T) {
	t.Parallel()
	u := admin(t)
	manifest := strings.ReplaceAll(moved, "cluster.x-k8s.io/v1beta2\n", "cluster.slipway.dev/v1alpha1\n")
	u.apply(manifest, "--server-side", "--field-manager=git")
	again := u.apply(manifest, "--server-side", "--field-manager=git", "-o", "json")
	var first map[string]any
	if err := json.NewDecoder(strings.NewReader(again)).Decode(&first); err != nil {
		t.Fatalf("kubectl apply -o json: %v\n%s", err, again)
	}
	for object, want := range map[string]map[string]string{
		"md.cluster.slipway.dev/shop-md-0": {
			".metadata.generation":           "1", // the second time changed nothing
			".spec.replicas":                 "2", // the fewest of the autoscaler
			".metadata.labels":               `{"cluster.x-k8s.io/cluster-name":"shop"}`,
			".spec.selector":                 `{"matchLabels":{"cluster.x-k8s.io/cluster-name":"shop","cluster.x-k8s.io/deployment-name":"shop-md-0"}}`,
			".spec.template.metadata.labels": `{"cluster.x-k8s.io/cluster-name":"shop","cluster.x-k8s.io/deployment-name":"shop-md-0","node-role.kubernetes.io/worker":""}`,
			".spec.template.spec.version":    "v1.36.3",
			".spec.rollout.strategy":         `{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":0},"type":"RollingUpdate"}`,
		},
		"mhc.cluster.slipway.dev/shop-md-0": {".metadata.generation": "1", ".spec.checks.nodeStartupTimeoutSeconds": "600"},
		"cl.cluster.slipway.dev/shop":       {".metadata.generation": "1", ".spec.controlPlaneEndpoint": `{"host":"10.0.0.10","port":6443}`},
		"mdr.cluster.slipway.dev/first":     {".metadata.generation": "1", ".spec.drain": `{"behavior":"Drain","order":-10}`},
	} {
		for path, value := range want {
			if got := u.get(object, path); got != value {
				t.Errorf("%s of %s is %s, want %s", path, object, got, value)
			}
		}
	}
	u.refused(strings.Replace(manifest, "unhealthyInRange", "maxUnhealthy", 1), []string{"apply", "--server-side", "--field-manager=git", "-f", "-"}, "maxUnhealthy")
	u.refused("", []string{"patch", "md/shop-md-0", "--type=merge", "-p", `{"spec":{"clusterName":"other"}}`}, "spec.clusterName", "must stay shop")
}

func TestMachinesAreSeenAndScaledByKubectl(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.apply(strings.ReplaceAll(moved, "cluster.x-k8s.io/v1beta2\n", "cluster.slipway.dev/v1alpha1\n") + `
---
apiVersion: cluster.slipway.dev/v1alpha1
kind: Machine
metadata: {name: alone}
spec:
  clusterName: shop
  version: v1.36.3
  providerID: vsphere://1
  bootstrap: {dataSecretName: user-data}
  infrastructureRef: {apiGroup: vm.slipway.dev, kind: VirtualMachine, name: alone}
`)
	t.Cleanup(func() { // nothing else removes the finalizer while the cluster is paused
		_, _, _ = u.try("", "kubectl", "delete", "ma/alone", "--wait=false")
		_, _, _ = u.try("", "kubectl", "patch", "ma/alone", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	})
	u.kubectl("patch", "ma/alone", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Running","nodeRef":{"name":"node-1"},
		"failureDomain":"zone-1","addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"nodeInfo":{"osImage":"Photon"},
		"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`)
	u.refused("", []string{"patch", "ma/alone", "--subresource=status", "--type=merge", "-p", `{"status":{"addresses":[{"type":"IPv4","address":"10.0.0.1"}]}}`}, "status.addresses[0].type", "InternalIP")
	u.kubectl("patch", "ma/alone", "--type=merge", "-p", `{"status":{"nodeRef":{"name":"another"}}}`)
	if got := u.get("ma/alone", ".status.nodeRef.name"); got != "node-1" {
		t.Errorf("a write of status through the main resource left nodeRef %q", got)
	}
	lines := strings.Split(u.kubectl("get", "machines.cluster.slipway.dev", "-o", "wide"), "\n")
	header := []string{"NAME", "CLUSTER", "NODE NAME", "FAILURE DOMAIN", "READY", "AVAILABLE", "UP-TO-DATE", "PHASE", "VERSION", "AGE", "PROVIDER ID", "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "PAUSED"}
	if diff := cmp.Diff(header, columns(lines[0])); diff != "" {
		t.Errorf("columns of machines (-want +got):\n%s", diff)
	}
	for _, cell := range []string{"alone", "shop", "node-1", "zone-1", "True", "v1.36.3", "vsphere://1", "10.0.0.1", "Photon"} {
		if !strings.Contains(lines[1], cell) {
			t.Errorf("%q does not show %q", lines[1], cell)
		}
	}

	u.kubectl("scale", "md/shop-md-0", "--replicas=4")
	if got := u.get("md/shop-md-0", ".spec.replicas"); got != "4" {
		t.Errorf("after kubectl scale %s replicas are wanted, want 4", got)
	}
	u.refused("", []string{"scale", "md/shop-md-0", "--replicas=10001"}, "spec.replicas", "from 0 to 10000")
	u.kubectl("scale", "md/shop-md-0", "--replicas=1", "--dry-run=server")
	scale := u.kubectl("get", "md/shop-md-0", "--subresource=scale")
	if diff := cmp.Diff([]string{"NAME", "DESIRED", "AVAILABLE", "AGE"}, columns(strings.Split(scale, "\n")[0])); diff != "" || !strings.Contains(scale, " 4 ") {
		t.Errorf("the scale after a dry run (-want +got):\n%s\n%s", diff, scale)
	}
	u.kubectl("autoscale", "md/shop-md-0", "--min=2", "--max=5", "--cpu=80%", "--dry-run=server")
	everything := u.kubectl("get", "cluster-api", "-o", "name")
	for _, name := range []string{"cluster.cluster.slipway.dev/shop", "machine.cluster.slipway.dev/alone", "machinedeployment.cluster.slipway.dev/shop-md-0", "machinehealthcheck.cluster.slipway.dev/shop-md-0", "machinedrainrule.cluster.slipway.dev/first"} {
		if !strings.Contains(everything, name) {
			t.Errorf("kubectl get cluster-api does not show %s:\n%s", name, everything)
		}
	}
}

// smallScale is for the namespace and under the name that it is formatted with.
const smallScale = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
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

func TestACELPolicyOfTheHostClusterHoldsForTheScaleOfMachines(t *testing.T) {
	u := admin(t)
	clusterObjects(t, "validatingadmissionpolicy/"+u.namespace, "validatingadmissionpolicybinding/"+u.namespace)
	u.apply(strings.ReplaceAll(moved, "cluster.x-k8s.io/v1beta2\n", "cluster.slipway.dev/v1alpha1\n"))
	u.apply(fmt.Sprintf(smallScale, u.namespace))
	eventually(t, short, "the policy holds", func() error {
		_, errOut, err := u.try("", "kubectl", "scale", "md/shop-md-0", "--replicas=9", "--dry-run=server")
		if err == nil || !strings.Contains(errOut, "at most 3 machines here, not 9") {
			return errorf("kubectl scale: %v %s", err, errOut)
		}
		return nil
	})
	u.kubectl("scale", "md/shop-md-0", "--replicas=3")
	if got := u.get("md/shop-md-0", ".spec.replicas"); got != "3" {
		t.Errorf("%s replicas are wanted, want 3", got)
	}
}

// columns are those of a header, which two spaces part.
func columns(header string) []string {
	var all []string
	for _, name := range strings.Split(header, "  ") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, name)
		}
	}
	return all
}

// Who may make machines, and may not delete virtual machines, cannot have them deleted by one.
func TestAMachineNamesOnlyWhatItsAuthorMayDelete(t *testing.T) {
	t.Parallel()
	u := admin(t)
	kubeconfig, err := environment(t).UserKubeconfig("machinist")
	if err != nil {
		t.Fatal(err)
	}
	u.kubectl("create", "role", "machinist", "--verb=create,get", "--resource=machines.cluster.slipway.dev")
	u.kubectl("create", "rolebinding", "machinist", "--role=machinist", "--user=machinist")
	machinist := user{t: t, kubeconfig: kubeconfig, namespace: u.namespace}
	const manifest = `
apiVersion: cluster.slipway.dev/v1alpha1
kind: Machine
metadata: {name: thief}
spec:
  clusterName: shop
  bootstrap: {dataSecretName: user-data}
  infrastructureRef: {apiGroup: vm.slipway.dev, kind: VirtualMachine, name: db}
`
	create := []string{"create", "-f", "-", "--dry-run=server"}
	eventually(t, short, "the right to make machines holds", func() error {
		_, errOut, err := machinist.try(manifest, "kubectl", create...)
		if err == nil || !strings.Contains(errOut, "spec.infrastructureRef: only who may update virtualmachines.vm.slipway.dev db may name it here") {
			return errorf("kubectl create: %v\n%s", err, errOut)
		}
		return nil
	})
	u.kubectl("create", "role", "owner", "--verb=update,delete", "--resource=virtualmachines.vm.slipway.dev")
	u.kubectl("create", "rolebinding", "owner", "--role=owner", "--user=machinist")
	eventually(t, short, "who may delete the virtual machine may name it", func() error {
		_, errOut, err := machinist.try(manifest, "kubectl", create...)
		if err != nil {
			return errorf("kubectl create: %v\n%s", err, errOut)
		}
		return nil
	})
}

func TestTheExampleOfAClusterIsAccepted(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../../artifacts/examples/cluster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	u := admin(t)
	out := u.apply(strings.ReplaceAll(string(content), "  namespace: default\n", ""), "--dry-run=server")
	if got := strings.Count(out, "created (server dry run)"); got != 9 || strings.Contains(out, "Warning") {
		t.Errorf("%d objects are created, want 9 without a warning:\n%s", got, out)
	}
}
