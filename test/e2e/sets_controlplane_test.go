// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import "testing"

// The control plane can be an object of any provider that follows the contract.
func TestCluster_FollowsItsControlPlaneObject(t *testing.T) {
	t.Parallel()
	s := newSetScene(t)
	const of, plane = "clusters.cluster.slipway.dev/other", "examplecontrolplane/other"
	s.Put(`
apiVersion: cluster.slipway.dev/v1alpha1
kind: Cluster
metadata: {name: other}
spec: {controlPlaneRef: {apiGroup: controlplane.example.org, kind: ExampleControlPlane, name: other}}
`)
	s.Wants(of, `.status.conditions[?(@.type=="ControlPlaneInitialized")].message`, "ExampleControlPlane does not exist")
	s.Put(`
apiVersion: controlplane.example.org/v1
kind: ExampleControlPlane
metadata: {name: other, finalizers: [example.org/keep]}
spec: {}
`)
	release := `{"metadata":{"finalizers":null}}`
	t.Cleanup(func() { _, _, _ = s.Try("", "kubectl", "patch", plane, "--type=merge", "-p", release) })
	s.Kubectl("annotate", of, "checked=now") // A change of an unlabeled object is noticed within 30 s.
	s.Wants(plane, ".metadata.ownerReferences[0].kind", "Cluster")
	s.Wants(plane, `.metadata.labels.cluster\.x-k8s\.io/cluster-name`, "other")
	s.Wants(of, `.status.conditions[?(@.type=="ControlPlaneInitialized")].message`, "Waiting for ExampleControlPlane to be initialized")

	t.Log("its endpoint and its initialized status are copied and kept")
	patch := func(text string) { s.Patch(plane, text) }
	patch(`{"spec":{"controlPlaneEndpoint":{"host":"192.0.2.20","port":6443}}}`)
	s.Wants(of, ".spec.controlPlaneEndpoint.host", "192.0.2.20")
	s.Wants(of, ".status.phase", "Provisioned")
	if got := s.Get(of, ".status.initialization.controlPlaneInitialized"); got != "" {
		t.Errorf("controlPlaneInitialized is %q before its object reports it", got)
	}
	patch(`{"status":{"initialization":{"controlPlaneInitialized":true}}}`)
	s.Wants(of, ".status.initialization.controlPlaneInitialized", "true")
	patch(`{"spec":{"controlPlaneEndpoint":{"host":"192.0.2.21"}},"status":null}`)
	s.Kubectl("annotate", of, "looked-at=later", "--overwrite")
	s.Wants(of, `.status.conditions[?(@.type=="ControlPlaneInitialized")].status`, "True")
	if got := s.Get(of, ".spec.controlPlaneEndpoint.host"); got != "192.0.2.20" {
		t.Errorf("the endpoint is %s, want the first one", got)
	}

	t.Log("the object goes with the Cluster, which waits for it")
	s.Remove(of)
	s.Wants(of, `.status.conditions[?(@.type=="Deleting")].reason`, "WaitingForControlPlaneDeletion")
	if got := s.Get(plane, ".metadata.deletionTimestamp"); got == "" {
		t.Error("the control plane is not deleted")
	}
	patch(release)
	s.Kubectl("wait", "--for=delete", of, "--timeout=120s")
}
