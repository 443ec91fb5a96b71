// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/node"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/networks"
	"github.com/slipway-dev/slipway/test/integration/framework"
	"github.com/slipway-dev/slipway/test/reasons"
)

// fleet is a server with the controller of Machines. The workload cluster is also its management cluster.
type fleet struct {
	t       *testing.T
	client  versioned.Interface
	objects dynamic.Interface
	// namespace is the name of the namespace in both clusters.
	namespace string
}

var (
	crds   = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	infras = schema.GroupVersionResource{Group: "infrastructure.example.org", Version: "v1", Resource: "examplemachines"}
)

// newFleet runs the controller with the workload cluster, which is connected as "blue".
func newFleet(t *testing.T) *fleet {
	t.Helper()
	server := framework.StartStandalone(t)
	reasons.FollowIn(t, server.Config())
	f := &fleet{t: t, client: server.Client(t)}
	f.namespace = namespace(t)
	var err error
	f.objects, err = dynamic.NewForConfig(cluster.RestConfig())
	f.must(err)
	f.installKind()
	own, err := dynamic.NewForConfig(server.Config())
	f.must(err)
	labels, err := metadata.NewForConfig(cluster.RestConfig())
	f.must(err)
	informers := externalversions.NewSharedInformerFactoryWithOptions(f.client, 0, externalversions.WithTransform(controller.StripManagedFields))
	clusters := workload.New(workload.Options{
		Host: cluster.Client(), Metadata: labels, IsNeeded: func(types.NamespacedName) bool { return true },
		Networks: networks.Networks{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	c, err := machine.New(machine.Deps{
		Client: f.client, Informers: informers, Workloads: machine.NewWorkloads(clusters), Recorder: events.NewFakeRecorder(10000),
		Kinds:     contract.New(contract.Options{OwnClient: own, ManagementClient: f.objects, Kinds: contract.Kinds{Discovery: cluster.Client().Discovery().RESTClient(), Metadata: labels}}),
		NodeRules: node.Rules{Labels: []*regexp.Regexp{regexp.MustCompile(`^example\.org/`)}},
	})
	f.must(err)
	clusters.OnCluster(c.OnCluster)
	clusters.OnNode(c.OnNode)
	clusters.SetNodeFilter(c.HasMachine)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { clusters.Run(ctx) })
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Errorf("the controller ended with %v", err)
		}
	})
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	f.makeCluster()
	return f
}

func (f *fleet) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// installKind installs the kind of the infrastructure, once.
func (f *fleet) installKind() {
	f.t.Helper()
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	_, err := f.objects.Resource(crds).Create(f.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "examplemachines.infrastructure.example.org", "labels": map[string]any{"cluster.x-k8s.io/v1beta2": "v1"}},
		"spec": map[string]any{
			"group": infras.Group, "scope": "Namespaced",
			"names": map[string]any{"kind": "ExampleMachine", "listKind": "ExampleMachineList", "plural": "examplemachines", "singular": "examplemachine"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{"spec": open, "status": open}},
			}}},
		},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		f.t.Fatal(err)
	}
	f.until("the kind is served", func() bool {
		_, err := f.objects.Resource(infras).Namespace(f.namespace).List(f.t.Context(), metav1.ListOptions{})
		return err == nil
	})
}

// makeCluster creates the Cluster blue, whose control plane is initialized, and its Secret.
func (f *fleet) makeCluster() {
	f.t.Helper()
	_, err := cluster.Client().CoreV1().Secrets(f.namespace).Create(f.t.Context(), cluster.Secret(f.namespace, "blue"), metav1.CreateOptions{})
	f.must(err)
	clusters := f.client.ClusterV1alpha1().Clusters(f.namespace)
	blue, err := clusters.Create(f.t.Context(), &clusterv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Name: "blue"},
		Spec:       clusterv1alpha1.ClusterSpec{InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: infras.Group, Kind: "ExampleCluster", Name: "blue"}},
	}, metav1.CreateOptions{})
	f.must(err)
	blue.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	conditions.Set(&blue.Status.Conditions, time.Now(), metav1.Condition{
		Type: clusterv1alpha1.ClusterControlPlaneInitializedCondition, Status: metav1.ConditionTrue, Reason: clusterv1alpha1.InitializedReason,
	})
	_, err = clusters.UpdateStatus(f.t.Context(), blue, metav1.UpdateOptions{})
	f.must(err)
}

// name returns a name for Nodes that no other test uses.
func (f *fleet) name(name string) string { return f.namespace + "-" + name }

// id returns the provider ID of a Machine.
func (f *fleet) id(name string) string { return "example://" + f.name(name) }

// machine creates a Machine with infrastructure that has no status yet.
func (f *fleet) machine(name string, change ...func(*clusterv1alpha1.Machine)) {
	f.t.Helper()
	_, err := f.objects.Resource(infras).Namespace(f.namespace).Create(f.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "infrastructure.example.org/v1", "kind": "ExampleMachine", "metadata": map[string]any{"name": name, "namespace": f.namespace},
	}}, metav1.CreateOptions{})
	f.must(err)
	m := &clusterv1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: f.namespace},
		Spec: clusterv1alpha1.MachineSpec{
			ClusterName: "blue", Bootstrap: clusterv1alpha1.Bootstrap{DataSecretName: ptr.To("data")},
			InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: infras.Group, Kind: "ExampleMachine", Name: name},
		},
	}
	for _, c := range change {
		c(m)
	}
	_, err = f.client.ClusterV1alpha1().Machines(f.namespace).Create(f.t.Context(), m, metav1.CreateOptions{})
	f.must(err)
}

// reports patches the infrastructure of a Machine.
func (f *fleet) reports(name string, status map[string]any) {
	f.t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"providerID": f.id(name)}, "status": status})
	f.must(err)
	_, err = f.objects.Resource(infras).Namespace(f.namespace).Patch(f.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	f.must(err)
}

func (f *fleet) provisioned(name string) {
	f.t.Helper()
	f.reports(name, map[string]any{"initialization": map[string]any{"provisioned": true}})
}

// node creates the Node of a Machine, which is deleted at the end of the test.
func (f *fleet) node(name, of string, change ...func(*corev1.Node)) {
	f.t.Helper()
	_, err := cluster.AddNode(f.t.Context(), f.name(name), f.id(of), change...)
	f.must(err)
	f.t.Cleanup(func() { f.removeNode(name) })
}

func (f *fleet) removeNode(name string) {
	f.t.Helper()
	err := cluster.Client().CoreV1().Nodes().Delete(context.Background(), f.name(name), metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		f.t.Error(err)
	}
}

func (f *fleet) readNode(name string) *corev1.Node {
	f.t.Helper()
	n, err := cluster.Client().CoreV1().Nodes().Get(f.t.Context(), f.name(name), metav1.GetOptions{})
	f.must(err)
	return n
}

func (f *fleet) read(name string) *clusterv1alpha1.Machine {
	f.t.Helper()
	m, err := f.client.ClusterV1alpha1().Machines(f.namespace).Get(f.t.Context(), name, metav1.GetOptions{})
	f.must(err)
	return m
}

// change patches a Machine.
func (f *fleet) change(name, patch string) {
	f.t.Helper()
	_, err := f.client.ClusterV1alpha1().Machines(f.namespace).Patch(f.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	f.must(err)
}

// until waits for an asynchronous change.
func (f *fleet) until(what string, condition func() bool) {
	f.t.Helper()
	for deadline := time.Now().Add(patience); !condition(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			f.t.Fatalf("%s: not within %s", what, patience)
		}
	}
}

// awaitCondition waits until a condition of a Machine has the expected status, reason and part of the message.
func (f *fleet) awaitCondition(name, kind, want, message string) {
	f.t.Helper()
	var got string
	deadline := time.Now().Add(patience)
	for {
		if c := conditions.Find(f.read(name).Status.Conditions, kind); c != nil {
			got = string(c.Status) + " " + c.Reason + ": " + c.Message
			if strings.HasPrefix(got, want+":") && strings.Contains(c.Message, message) {
				return
			}
		}
		if time.Now().After(deadline) {
			f.t.Fatalf("%s of %s is %q, want %s: %s", kind, name, got, want, message)
		}
		<-time.After(20 * time.Millisecond)
	}
}
