// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
)

// provider is an infrastructure or bootstrap provider of Cluster API, with its kinds and the permissions that it
// grants to the controller of Machines.
const provider = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: example-net-provider, labels: {cluster.x-k8s.io/aggregate-to-manager: "true"}}
rules: [{apiGroups: [machines.example.net], resources: ["*"], verbs: [get, list, watch, patch, delete]}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.machines.example.net, labels: {cluster.x-k8s.io/v1beta2: v1beta1}}
spec:
  group: machines.example.net
  scope: Namespaced
  names: {kind: %[1]s, plural: %[2]s}
  versions:
  - name: v1beta1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v1
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

var (
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	roles       = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	machinesOf  = schema.GroupVersionResource{Group: "machines.example.net", Version: "v1beta1", Resource: "examplemachines"}
	configsOf   = schema.GroupVersionResource{Group: "machines.example.net", Version: "v1beta1", Resource: "exampleconfigs"}
)

// MB21, MB32, MB42, MT5-10, MT25: objects of a provider's CustomResourceDefinitions are adopted, read in the version
// that the CRD's label names, and deleted in order.
func TestMachine_UsesObjectsOfAnyProvider(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	others := dynamic.NewForConfigOrDie(s.Host.RestConfig())
	s.make(others, roles, fmt.Sprintf(provider, "", ""))
	for kind, plural := range map[string]string{"ExampleMachine": "examplemachines", "ExampleConfig": "exampleconfigs"} {
		s.make(others, definitions, fmt.Sprintf(provider, kind, plural))
	}
	object := func(gvr schema.GroupVersionResource, kind string) dynamic.ResourceInterface {
		o := &unstructured.Unstructured{}
		o.SetAPIVersion(gvr.GroupVersion().String())
		o.SetKind(kind)
		o.SetName("e1")
		client := others.Resource(gvr).Namespace(s.Namespace)
		s.Eventually("the kind is served", func() error { return first(client.Create(t.Context(), o, metav1.CreateOptions{})) })
		return client
	}
	infra, config := object(machinesOf, "ExampleMachine"), object(configsOf, "ExampleConfig")
	s.Must(first(s.API.ClusterV1alpha1().Machines(s.Namespace).Create(t.Context(), &clusterv1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: "e1"},
		Spec: clusterv1alpha1.MachineSpec{
			ClusterName:       "c",
			Bootstrap:         clusterv1alpha1.Bootstrap{ConfigRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: configsOf.Group, Kind: "ExampleConfig", Name: "e1"}},
			InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: machinesOf.Group, Kind: "ExampleMachine", Name: "e1"},
		},
	}, metav1.CreateOptions{})))
	s.Eventually("the Machine has adopted its objects", func() error {
		for _, client := range []dynamic.ResourceInterface{infra, config} {
			o, err := client.Get(t.Context(), "e1", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if owner := metav1.GetControllerOf(o); owner == nil || owner.Kind != "Machine" || o.GetLabels()[clusterv1alpha1.ClusterNameLabel] != "c" {
				return fmt.Errorf("%s has owners %v and labels %v", o.GetKind(), o.GetOwnerReferences(), o.GetLabels())
			}
		}
		return nil
	})
	patch := func(client dynamic.ResourceInterface, text string, sub ...string) {
		s.Must(first(client.Patch(t.Context(), "e1", types.MergePatchType, []byte(text), metav1.PatchOptions{}, sub...)))
	}
	patch(config, `{"status":{"dataSecretName":"made","initialization":{"dataSecretCreated":true}}}`, "status")
	patch(infra, `{"spec":{"providerID":"example://`+s.Namespace+`"}}`)
	patch(infra, `{"status":{"initialization":{"provisioned":true},"failureDomain":"z1","addresses":[{"type":"InternalIP","address":"10.0.0.7"}]}}`, "status")
	m := s.join("e1")
	if m.Spec.ProviderID != "example://"+s.Namespace || m.Status.FailureDomain != "z1" || *m.Spec.Bootstrap.DataSecretName != "made" {
		t.Errorf("spec %+v, status %+v", m.Spec, m.Status)
	}
	patch(infra, `{"metadata":{"finalizers":["example.org/keep"]}}`)
	s.delete("e1")
	s.waits("e1", clusterv1alpha1.WaitingForInfrastructureDeletionReason)
	if _, err := config.Get(t.Context(), "e1", metav1.GetOptions{}); err != nil {
		t.Errorf("the bootstrap object is deleted before the infrastructure: %v", err)
	}
	patch(infra, `{"metadata":{"finalizers":null}}`)
	s.until("e1", "the Machine is deleted", func(m *clusterv1alpha1.Machine) bool { return m == nil })
	if s.workNode("e1") != nil {
		t.Error("the Node of a deleted Machine exists")
	}
}

// An unknown kind is reported, and its object is not treated as deleted.
func TestMachine_ReportsAnUnknownKind(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	data := "data"
	s.Must(first(s.API.ClusterV1alpha1().Machines(s.Namespace).Create(t.Context(), &clusterv1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: "u1"},
		Spec: clusterv1alpha1.MachineSpec{
			ClusterName: "c", Bootstrap: clusterv1alpha1.Bootstrap{DataSecretName: &data},
			InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "unknown.example.org", Kind: "UnknownMachine", Name: "u1"},
		},
	}, metav1.CreateOptions{})))
	unknown := func(m *clusterv1alpha1.Machine) bool {
		c := conditions.Find(m.Status.Conditions, clusterv1alpha1.InfrastructureReadyCondition)
		return c != nil && c.Status == metav1.ConditionUnknown && c.Reason == clusterv1alpha1.InternalErrorReason
	}
	s.until("u1", "unknown kind", unknown)
	s.delete("u1")
	m := s.waits("u1", clusterv1alpha1.InternalErrorReason)
	if m.Status.Deletion.Stage != clusterv1alpha1.MachineDeletionStageInfrastructure {
		t.Errorf("deletion %+v", m.Status.Deletion)
	}
	s.annotate("u1", clusterv1alpha1.PausedAnnotation, &data)
	s.Eventually("an administrator can remove its finalizer", func() error {
		_, err := s.API.ClusterV1alpha1().Machines(s.Namespace).Patch(t.Context(), "u1", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		return err
	})
}

// make creates the objects of a kind in a manifest.
func (s *scene) make(client dynamic.Interface, gvr schema.GroupVersionResource, manifest string) {
	s.Helper()
	for _, text := range strings.Split(manifest, "\n---\n") {
		o := &unstructured.Unstructured{}
		s.Must(yaml.Unmarshal([]byte(text), &o.Object))
		if (gvr == definitions) != (o.GetKind() == "CustomResourceDefinition") {
			continue
		}
		s.Must(first(client.Resource(gvr).Create(s.Context(), o, metav1.CreateOptions{})))
		s.Cleanup(func() {
			if err := client.Resource(gvr).Delete(context.WithoutCancel(s.Context()), o.GetName(), metav1.DeleteOptions{}); err != nil {
				s.Log(err)
			}
		})
	}
}
