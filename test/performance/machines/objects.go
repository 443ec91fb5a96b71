// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"golang.org/x/sync/errgroup"
)

const namespace = "bench"

// infra is the infrastructure kind of a Machine here, and infraCluster that of a Cluster.
var (
	infra        = schema.GroupVersionResource{Group: "infrastructure.example.org", Version: "v1", Resource: "benchmachines"}
	infraCluster = infra.GroupVersion().WithResource("benchclusters")
)

// definition is the definition of a provider's kind, with the label of the contract.
func definition(kind, resource string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: %[2]s.infrastructure.example.org
  labels: {cluster.x-k8s.io/v1beta2: v1}
spec:
  group: infrastructure.example.org
  names: {kind: %[1]s, listKind: %[1]sList, plural: %[2]s, singular: %[3]s}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
---
`, kind, resource, strings.ToLower(kind))
}

// provider contains the manifests of an infrastructure provider: its kinds, and the permissions of both managers for
// them.
var provider = definition("BenchMachine", infra.Resource) + definition("BenchCluster", infraCluster.Resource) + `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: benchmachines
  labels: {cluster.x-k8s.io/aggregate-to-manager: "true"}
rules:
- {apiGroups: [infrastructure.example.org], resources: ["*"], verbs: ["*"]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: benchmachines}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: benchmachines}
subjects:
- {kind: ServiceAccount, name: slipway-apiserver, namespace: slipway-system}
---
apiVersion: v1
kind: Namespace
metadata: {name: bench}
---
apiVersion: v1
kind: Secret
metadata: {name: data, namespace: bench, labels: {cluster.x-k8s.io/cluster-name: c}}
type: cluster.x-k8s.io/secret
data: {value: ` + bootstrap + `}
`

var bootstrap = base64.StdEncoding.EncodeToString([]byte("#cloud-config\n"))

func (e *environment) resource(name string) schema.GroupVersionResource {
	return groups[e.settings.manager].WithResource(name)
}

func (e *environment) object(kind, name string, labels map[string]any, spec map[string]any) *unstructured.Unstructured {
	metadata := map[string]any{"namespace": namespace, "name": name}
	if labels != nil {
		metadata["labels"] = labels
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": groups[e.settings.manager].String(), "kind": kind, "metadata": metadata, "spec": spec,
	}}
}

// makeClusters creates the Clusters with their kubeconfigs.
func (e *environment) makeClusters(ctx context.Context) error {
	for i := range e.settings.clusters {
		name := clusterOf(i)
		secret := e.workload.Secret(namespace, name)
		secret.Labels = map[string]string{"cluster.x-k8s.io/cluster-name": name}
		if _, err := e.core.CoreV1().Secrets(namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making a kubeconfig: %w", err)
		}
		endpoint := map[string]any{"host": "127.0.0.1", "port": int64(6443)}
		below := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": infra.GroupVersion().String(), "kind": "BenchCluster", "metadata": map[string]any{"namespace": namespace, "name": name},
			"spec":   map[string]any{"controlPlaneEndpoint": endpoint},
			"status": map[string]any{"initialization": map[string]any{"provisioned": true}},
		}}
		if _, err := e.objects.Resource(infraCluster).Namespace(namespace).Create(ctx, below, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating the infrastructure of Cluster %s: %w", name, err)
		}
		cluster := e.object("Cluster", name, nil, map[string]any{
			"controlPlaneEndpoint": endpoint,
			"infrastructureRef":    map[string]any{"apiGroup": infra.Group, "kind": "BenchCluster", "name": name},
		})
		if _, err := e.objects.Resource(e.resource("clusters")).Namespace(namespace).Create(ctx, cluster, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making Cluster %s: %w", name, err)
		}
		if e.settings.manager != slipway {
			continue
		}
		// The controller of Clusters writes the same. The controller of Machines is also measured without it.
		status := fmt.Appendf(nil, `{"status":{"initialization":{"infrastructureProvisioned":true,"controlPlaneInitialized":true},"conditions":[`+
			`{"type":"ControlPlaneInitialized","status":"True","reason":"Initialized","message":"","lastTransitionTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
		if _, err := e.objects.Resource(e.resource("clusters")).Namespace(namespace).Patch(ctx, name, types.MergePatchType, status, metav1.PatchOptions{}, "status"); err != nil {
			return fmt.Errorf("making Cluster %s: %w", name, err)
		}
	}
	return nil
}

func clusterOf(i int) string { return fmt.Sprintf("cluster-%02d", i) }

// submitters is the number of concurrent creates.
const submitters = 8

// submit creates all Machines with their infrastructure. The first of each cluster is its control plane.
func (e *environment) submit(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(submitters)
	for i := range e.settings.machines {
		g.Go(func() error {
			name, cluster := fmt.Sprintf("machine-%05d", i), clusterOf(i%e.settings.clusters)
			labels := map[string]any{"cluster.x-k8s.io/cluster-name": cluster}
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": infra.GroupVersion().String(), "kind": "BenchMachine",
				"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": map[string]any{},
			}}
			if _, err := e.objects.Resource(infra).Namespace(namespace).Create(ctx, object, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("making the infrastructure of %s: %w", name, err)
			}
			if i < e.settings.clusters {
				labels["cluster.x-k8s.io/control-plane"] = ""
			}
			machine := e.object("Machine", name, labels, map[string]any{
				"clusterName": cluster, "version": "v1.37.2", "bootstrap": map[string]any{"dataSecretName": "data"},
				"infrastructureRef": map[string]any{"apiGroup": infra.Group, "kind": "BenchMachine", "name": name},
			})
			_, err := e.objects.Resource(e.resource("machines")).Namespace(namespace).Create(ctx, machine, metav1.CreateOptions{})
			if err != nil {
				return fmt.Errorf("making Machine %s: %w", name, err)
			}
			return nil
		})
	}
	return g.Wait()
}

// create creates the Machines, and returns the cost until all have their Nodes.
func (e *environment) create(ctx context.Context) (cost, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.settings.limit, fmt.Errorf("not all Machines had a Node within %s", e.settings.limit))
	defer cancel()
	before, err := e.sample(ctx)
	if err != nil {
		return cost{}, err
	}
	progress("making %d Machines in %d Clusters", e.settings.machines, e.settings.clusters)
	if err := e.submit(ctx); err != nil {
		return cost{}, err
	}
	next := time.Now()
	for e.machines.ready() < e.settings.machines {
		if time.Since(next) > 0 {
			progress("%d Machines have a Node that is well", e.machines.ready())
			next = time.Now().Add(10 * time.Second)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return cost{}, context.Cause(ctx)
		}
	}
	after, err := e.sample(ctx)
	return after.since(before), err
}
