// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// moved is written for Cluster API. Its Cluster is paused, because other tests check the controllers.
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

// inOurGroup converts a manifest for Cluster API to the API group of Slipway.
func inOurGroup(manifest string) string {
	return strings.ReplaceAll(manifest, "cluster.x-k8s.io/v1beta2\n", "cluster.slipway.dev/v1alpha1\n")
}

func TestMachines_OfManifestsForClusterAPIAreSeenAndScaledByKubectl(t *testing.T) {
	t.Parallel()
	u := admin(t)
	u.part("moved by their apiVersion", func(t *testing.T, u user) { u.moves(t) })
	u.part("seen and scaled", func(t *testing.T, u user) { u.seesAndScales(t) })
}

func (u user) moves(t *testing.T) {
	manifest := inOurGroup(moved)
	u.Apply(manifest, "--server-side", "--field-manager=git")
	again := u.Apply(manifest, "--server-side", "--field-manager=git", "-o", "json")
	var first map[string]any
	if err := json.NewDecoder(strings.NewReader(again)).Decode(&first); err != nil {
		t.Fatalf("kubectl apply -o json: %v\n%s", err, again)
	}
	for object, want := range map[string]map[string]string{
		"md.cluster.slipway.dev/shop-md-0": {
			".metadata.generation":           "1", // the second time changed nothing
			".spec.replicas":                 "2", // the minimum of the autoscaler
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
			if got := u.Get(object, path); got != value {
				t.Errorf("%s of %s is %s, want %s", path, object, got, value)
			}
		}
	}
	u.Refused(strings.Replace(manifest, "unhealthyInRange", "maxUnhealthy", 1), []string{"apply", "--server-side", "--field-manager=git", "-f", "-"}, "maxUnhealthy")
	u.PatchDenied("md/shop-md-0", `{"spec":{"clusterName":"other"}}`, "spec.clusterName", "must stay shop")
}

func (u user) seesAndScales(t *testing.T) {
	u.Put(`
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
		_, _, _ = u.Try("", "kubectl", "delete", "ma/alone", "--wait=false")
		_, _, _ = u.Try("", "kubectl", "patch", "ma/alone", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	})
	u.Patch("ma/alone", `{"status":{"phase":"Running","nodeRef":{"name":"node-1"},
		"failureDomain":"zone-1","addresses":[{"type":"InternalIP","address":"10.0.0.1"}],"nodeInfo":{"osImage":"Photon"},
		"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`, "status")
	u.Refused("", []string{"patch", "ma/alone", "--subresource=status", "--type=merge", "-p", `{"status":{"addresses":[{"type":"IPv4","address":"10.0.0.1"}]}}`}, "status.addresses[0].type", "InternalIP")
	u.Patch("ma/alone", `{"status":{"nodeRef":{"name":"another"}}}`)
	if got := u.Get("ma/alone", ".status.nodeRef.name"); got != "node-1" {
		t.Errorf("a write of status through the main resource left nodeRef %q", got)
	}
	lines := strings.Split(u.Kubectl("get", "machines.cluster.slipway.dev", "-o", "wide"), "\n")
	header := []string{"NAME", "CLUSTER", "NODE NAME", "FAILURE DOMAIN", "READY", "AVAILABLE", "UP-TO-DATE", "PHASE", "VERSION", "AGE", "PROVIDER ID", "INTERNAL-IP", "EXTERNAL-IP", "OS-IMAGE", "PAUSED"}
	if diff := cmp.Diff(header, columns(lines[0])); diff != "" {
		t.Errorf("columns of machines (-want +got):\n%s", diff)
	}
	for _, cell := range []string{"alone", "shop", "node-1", "zone-1", "True", "v1.36.3", "vsphere://1", "10.0.0.1", "Photon"} {
		if !strings.Contains(lines[1], cell) {
			t.Errorf("%q does not show %q", lines[1], cell)
		}
	}

	u.Kubectl("scale", "md/shop-md-0", "--replicas=4")
	if got := u.Get("md/shop-md-0", ".spec.replicas"); got != "4" {
		t.Errorf("after kubectl scale %s replicas are desired, want 4", got)
	}
	u.Refused("", []string{"scale", "md/shop-md-0", "--replicas=10001"}, "spec.replicas", "from 0 to 10000")
	u.Kubectl("scale", "md/shop-md-0", "--replicas=1", "--dry-run=server")
	scale := u.Kubectl("get", "md/shop-md-0", "--subresource=scale")
	if diff := cmp.Diff([]string{"NAME", "DESIRED", "AVAILABLE", "AGE"}, columns(strings.Split(scale, "\n")[0])); diff != "" || !strings.Contains(scale, " 4 ") {
		t.Errorf("the scale after a dry run (-want +got):\n%s\n%s", diff, scale)
	}
	u.Kubectl("autoscale", "md/shop-md-0", "--min=2", "--max=5", "--cpu=80%", "--dry-run=server")
	everything := u.Kubectl("get", "cluster-api", "-o", "name")
	for _, name := range []string{"cluster.cluster.slipway.dev/shop", "machine.cluster.slipway.dev/alone", "machinedeployment.cluster.slipway.dev/shop-md-0", "machinehealthcheck.cluster.slipway.dev/shop-md-0", "machinedrainrule.cluster.slipway.dev/first"} {
		if !strings.Contains(everything, name) {
			t.Errorf("kubectl get cluster-api does not show %s:\n%s", name, everything)
		}
	}
}

// columns returns the columns of a header, which are separated by two spaces.
func columns(header string) []string {
	var all []string
	for _, name := range strings.Split(header, "  ") {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, name)
		}
	}
	return all
}
