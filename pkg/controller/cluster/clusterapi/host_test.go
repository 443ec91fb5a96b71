// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	versionedfake "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// long is how long a test waits for an expected event.
const long = 30 * time.Second

var (
	machinesResource = schema.GroupVersionResource{Group: Group, Version: version, Resource: "machines"}
	clustersResource = schema.GroupVersionResource{Group: Group, Version: version, Resource: "clusters"}
)

// fixture is a management cluster with or without Cluster API, and a Reader for it.
type fixture struct {
	*Reader
	t      *testing.T
	served atomic.Bool
	asked  atomic.Int32
	host   *dynamicfake.FakeDynamicClient
	own    *versionedfake.Clientset

	callbacks chan string

	mu      sync.Mutex
	watches []watch.Interface
}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, callbacks: make(chan string, 100), own: versionedfake.NewSimpleClientset(objects...)}
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		f.asked.Add(1)
		rw.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis/cluster.x-k8s.io/v1beta2" || !f.served.Load() {
			rw.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(rw).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
			return
		}
		_ = json.NewEncoder(rw).Encode(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: Group + "/" + version,
			APIResources: []metav1.APIResource{{Name: "machines"}, {Name: "clusters"}}})
	}))
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	f.host = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{machinesResource: "MachineList", clustersResource: "ClusterList"})
	gone := func(clienttesting.Action) (bool, runtime.Object, error) {
		return !f.served.Load(), nil, apierrors.NewNotFound(machinesResource.GroupResource(), "")
	}
	f.host.PrependReactor("list", "*", gone)
	f.host.PrependWatchReactor("*", func(action clienttesting.Action) (bool, watch.Interface, error) {
		opened, err := f.host.Tracker().Watch(action.GetResource(), action.GetNamespace())
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watches = append(f.watches, opened)
		return true, opened, err
	})
	informers := externalversions.NewSharedInformerFactory(f.own, 0)
	if f.Reader, err = New(informers, f.host, client); err != nil {
		t.Fatal(err)
	}
	say := func(what string) { f.callbacks <- what }
	f.Watch(Handlers{
		Machine: func(group string, key types.NamespacedName) { say("Machine " + group + " " + key.String()) },
		Cluster: func(group string, key types.NamespacedName) { say("Cluster " + group + " " + key.String()) },
		Group:   func(group string) { say("Group " + group) },
	})
	ctx, cancel := context.WithCancel(context.Background())
	informers.StartWithContext(ctx)
	var running sync.WaitGroup
	running.Go(func() { f.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait(); informers.Shutdown() })
	return f
}

// awaitCallback waits for a callback and returns the callbacks before it.
func (f *fixture) awaitCallback(what string) (before []string) {
	f.t.Helper()
	deadline := time.After(long)
	for {
		select {
		case callbacks := <-f.callbacks:
			if callbacks == what {
				return before
			}
			before = append(before, callbacks)
		case <-deadline:
			f.t.Fatalf("after %s the callbacks are %q, without %q", long, before, what)
		}
	}
}

// awaitWatches waits until a fake client watches Machines and Clusters, because the client loses events between list
// and watch.
func (f *fixture) awaitWatches(client *clienttesting.Fake) {
	f.t.Helper()
	if err := wait.PollUntilContextTimeout(f.t.Context(), 10*time.Millisecond, long, true, func(context.Context) (bool, error) {
		open := map[string]bool{}
		for _, a := range client.Actions() {
			open[a.GetResource().Resource] = open[a.GetResource().Resource] || a.GetVerb() == "watch"
		}
		return open["machines"] && open["clusters"], nil
	}); err != nil {
		f.t.Fatalf("Machines and Clusters are not watched: %v", err)
	}
}

// object returns an object of the management cluster.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(raw)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const machine = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, metadata: {namespace: ns, name: m, uid: uid-m}, spec: {clusterName: c, failureDomain: a,
  bootstrap: {dataSecretName: data}, infrastructureRef: {apiGroup: vm.slipway.dev, kind: VirtualMachine, name: vm}}}`

const cluster = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {namespace: ns, name: c, uid: uid-c}, spec: {paused: true,
  controlPlaneEndpoint: {host: 192.0.2.1, port: 6443}, infrastructureRef: {apiGroup: vm.slipway.dev, kind: SlipwayCluster, name: sc}},
  status: {initialization: {infrastructureProvisioned: true}}}`

var (
	machineKey = types.NamespacedName{Namespace: "ns", Name: "m"}
	clusterKey = types.NamespacedName{Namespace: "ns", Name: "c"}
)

func (f *fixture) make(resource schema.GroupVersionResource, text string) *unstructured.Unstructured {
	f.t.Helper()
	o, err := f.host.Resource(resource).Namespace("ns").Create(f.t.Context(), object(f.t, text), metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

func TestReader_SendsNoRequestsBeforeAnObjectIsRequested(t *testing.T) {
	f := newFixture(t)
	f.awaitCallback("Group cluster.slipway.dev")
	if n := f.asked.Load(); n > 0 || len(f.host.Actions()) > 0 {
		t.Errorf("%d discovery requests, requests %v; want none", n, f.host.Actions())
	}
}

func TestReader_DetectsInstallationAndRemovalOfClusterAPI(t *testing.T) {
	f := newFixture(t)
	if _, err := f.Machine(Group, machineKey); !errors.Is(err, ErrNotRead) {
		t.Errorf("before the first request: %v, want ErrNotRead", err)
	}
	f.awaitCallback("Group cluster.x-k8s.io")
	if _, err := f.Machine(Group, machineKey); !errors.Is(err, ErrNotServed) || errors.Is(err, ErrNotRead) {
		t.Errorf("without Cluster API: %v, want ErrNotServed", err)
	}

	f.make(machinesResource, machine)
	f.make(clustersResource, cluster)
	f.served.Store(true)
	f.awaitCallback("Group cluster.x-k8s.io")
	f.awaitWatches(&f.host.Fake)
	got, err := f.Machine(Group, machineKey)
	if diff := cmp.Diff(&Machine{Name: "m", UID: "uid-m", Cluster: "c", DataSecret: "data", FailureDomain: "a",
		Infrastructure: Reference{"vm.slipway.dev", "VirtualMachine", "vm"}}, got); diff != "" || err != nil {
		t.Errorf("Machine (-want +got), error %v:\n%s", err, diff)
	}
	of, err := f.Cluster(Group, clusterKey)
	if diff := cmp.Diff(&Cluster{Name: "c", UID: "uid-c", Paused: true, InfrastructureProvisioned: true, Host: "192.0.2.1", Port: 6443,
		Infrastructure: Reference{"vm.slipway.dev", "SlipwayCluster", "sc"}}, of); diff != "" || err != nil {
		t.Errorf("Cluster (-want +got), error %v:\n%s", err, diff)
	}
	if got, err := f.Machine(Group, types.NamespacedName{Namespace: "ns", Name: "other"}); got != nil || err != nil {
		t.Errorf("a Machine that does not exist: %v, %v", got, err)
	}

	f.served.Store(false)
	f.mu.Lock()
	for _, opened := range f.watches {
		opened.Stop()
	}
	f.mu.Unlock()
	f.awaitCallback("Group cluster.x-k8s.io")
	if _, err := f.Machine(Group, machineKey); !errors.Is(err, ErrNotServed) {
		t.Errorf("after the removal of Cluster API: %v, want ErrNotServed", err)
	}
	f.served.Store(true)
	f.awaitCallback("Group cluster.x-k8s.io")
	if got, err := f.Machine(Group, machineKey); got == nil || err != nil {
		t.Errorf("after the second installation: %v, %v", got, err)
	}
}

func TestReader_ReportsOnlyRelevantChanges(t *testing.T) {
	f := newFixture(t)
	f.served.Store(true)
	made := f.make(machinesResource, machine)
	_, _ = f.Machine(Group, machineKey)
	f.awaitCallback("Group cluster.x-k8s.io")
	f.awaitWatches(&f.host.Fake)
	machines := f.host.Resource(machinesResource).Namespace("ns")
	for _, phase := range []string{"Pending", "Provisioning"} {
		if err := unstructured.SetNestedField(made.Object, phase, "status", "phase"); err != nil {
			t.Fatal(err)
		}
		if _, err := machines.Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	f.make(clustersResource, cluster)
	var callbacks []string
	callbacks = append(callbacks, f.awaitCallback("Cluster cluster.x-k8s.io ns/c")...)
	if err := unstructured.SetNestedField(made.Object, "newer", "spec", "bootstrap", "dataSecretName"); err != nil {
		t.Fatal(err)
	}
	if _, err := machines.Update(t.Context(), made, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	callbacks = append(callbacks, f.awaitCallback("Machine cluster.x-k8s.io ns/m")...)
	if err := machines.Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	callbacks = append(callbacks, f.awaitCallback("Machine cluster.x-k8s.io ns/m")...)
	if callbacks = slices.DeleteFunc(callbacks, func(s string) bool { return s == "Group cluster.slipway.dev" }); len(callbacks) > 0 {
		t.Errorf("further callbacks %q, want none for irrelevant fields", callbacks)
	}
}

func TestReader_TreatsFieldsOfWrongTypesAsUnset(t *testing.T) {
	m := managementMachineOf(object(t, `{apiVersion: v1, kind: Machine, metadata: {name: m}, spec: {clusterName: 7, bootstrap: {dataSecretName: [a]}, failureDomain: `+strings.Repeat("x", 600)+`, infrastructureRef: vm}}`))
	if diff := cmp.Diff(Machine{Name: "m"}, m); diff != "" {
		t.Errorf("Machine (-want +got):\n%s", diff)
	}
	c := managementClusterOf(object(t, `{apiVersion: v1, kind: Cluster, metadata: {name: c}, spec: {paused: "true", controlPlaneEndpoint: {host: h, port: 123456}}, status: {initialization: yes}}`))
	if diff := cmp.Diff(Cluster{Name: "c", Host: "h"}, c); diff != "" {
		t.Errorf("Cluster (-want +got):\n%s", diff)
	}
}

func TestReader_ReadsOwnKindsFromSharedInformers(t *testing.T) {
	secret, yes := "data", true
	f := newFixture(t,
		&clusterv1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m", UID: "uid-m"}, Spec: clusterv1alpha1.MachineSpec{
			ClusterName: "c", FailureDomain: "a", Bootstrap: clusterv1alpha1.Bootstrap{DataSecretName: &secret},
			InfrastructureRef: clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "vm.slipway.dev", Kind: "VirtualMachine", Name: "vm"}}},
		&clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "uid-c"}, Spec: clusterv1alpha1.ClusterSpec{Paused: &yes,
			ControlPlaneEndpoint: clusterv1alpha1.APIEndpoint{Host: "h", Port: 6443}},
			Status: clusterv1alpha1.ClusterStatus{Initialization: clusterv1alpha1.ClusterInitializationStatus{InfrastructureProvisioned: &yes}}})
	group := clusterv1alpha1.GroupName
	f.awaitCallback("Group " + group)
	f.awaitWatches(&f.own.Fake)
	m, err := f.Machine(group, machineKey)
	if diff := cmp.Diff(&Machine{Name: "m", UID: "uid-m", Cluster: "c", DataSecret: "data", FailureDomain: "a",
		Infrastructure: Reference{"vm.slipway.dev", "VirtualMachine", "vm"}}, m); diff != "" || err != nil {
		t.Errorf("Machine (-want +got), error %v:\n%s", err, diff)
	}
	c, err := f.Cluster(group, clusterKey)
	if diff := cmp.Diff(&Cluster{Name: "c", UID: "uid-c", Paused: true, InfrastructureProvisioned: true, Host: "h", Port: 6443}, c); diff != "" || err != nil {
		t.Errorf("Cluster (-want +got), error %v:\n%s", err, diff)
	}
	if err := f.own.ClusterV1alpha1().Machines("ns").Delete(t.Context(), "m", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.awaitCallback("Machine " + group + " ns/m")
	if m, err := f.Machine(group, machineKey); m != nil || err != nil {
		t.Errorf("a deleted Machine: %v, %v", m, err)
	}
}
