// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

var vms = schema.GroupVersionResource{Group: "vm.slipway.dev", Version: "v1alpha1", Resource: "virtualmachines"}

func vm(name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("vm.slipway.dev/v1alpha1")
	o.SetKind("VirtualMachine")
	o.SetNamespace("ns")
	o.SetName(name)
	o.SetLabels(map[string]string{clusterv1alpha1.ClusterNameLabel: "c"})
	return o
}

// count returns the number of requests with a verb.
func count(client *fake.FakeDynamicClient, verb string) int {
	n := 0
	for _, a := range client.Actions() {
		if a.GetVerb() == verb {
			n++
		}
	}
	return n
}

func newObjects(t *testing.T, existing ...runtime.Object) (*fake.FakeDynamicClient, *Objects, chan string) {
	t.Helper()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		vms: "VirtualMachineList", {Group: vms.Group, Version: "v2", Resource: vms.Resource}: "VirtualMachineList",
	}, existing...)
	events := make(chan string, 10)
	ctx, cancel := context.WithCancel(t.Context())
	o := NewObjects(ctx, New(Options{OwnClient: client}), cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { events <- "add " + obj.(metav1.Object).GetName() },
		DeleteFunc: func(obj any) { events <- "delete " + obj.(metav1.Object).GetName() },
	})
	t.Cleanup(func() { cancel(); o.Wait() })
	return client, o, events
}

func expectEvent(t *testing.T, events chan string, want string) {
	t.Helper()
	select {
	case got := <-events:
		if got != want {
			t.Fatalf("got event %q, want %q", got, want)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("no event %q", want)
	}
}

func TestObjects_UseOneInformerPerKind(t *testing.T) {
	client, o, events := newObjects(t, vm("a"))
	ref := func(name string) Reference {
		return Reference{Group: vms.Group, Kind: "VirtualMachine", Name: name}
	}
	if got, k, err := o.Get(t.Context(), ref("a"), "ns"); err != nil || got.GetName() != "a" || k.GVR != vms {
		t.Fatalf("got %v of %v, error %v", got, k.GVR, err)
	}
	expectEvent(t, events, "add a")
	// The fake client loses events between list and watch.
	synced := func(context.Context) (bool, error) {
		requests := count(client, "get")
		_, _, err := o.Get(t.Context(), ref("a"), "ns")
		return count(client, "get") == requests && count(client, "watch") == 1, err
	}
	if err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, synced); err != nil {
		t.Fatalf("the cache does not sync: %v", err)
	}
	if n := count(client, "list"); n != 1 {
		t.Errorf("listed %d times", n)
	}

	// An object that is not cached is read from the server, because it may be newer than the cache.
	before := count(client, "get")
	if _, _, err := o.Get(t.Context(), ref("b"), "ns"); !apierrors.IsNotFound(err) || count(client, "get") != before+1 {
		t.Errorf("error %v after %d requests", err, count(client, "get")-before)
	}
	client.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewServiceUnavailable("down")
	})
	if _, _, err := o.Get(t.Context(), ref("b"), "ns"); apierrors.IsNotFound(err) || !errors.Is(err, ErrUnreadable) {
		t.Errorf("error %v while the server is down", err)
	}
	if err := client.Resource(vms).Namespace("ns").Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expectEvent(t, events, "delete a")
}

func TestObjects_DoNotReturnObjectsOfOtherNamespaces(t *testing.T) {
	_, o, events := newObjects(t, vm("a"))
	ref := Reference{Group: vms.Group, Kind: "VirtualMachine", Name: "a"}
	for range 2 {
		if _, _, err := o.Get(t.Context(), ref, "other"); !apierrors.IsNotFound(err) {
			t.Errorf("error %v", err)
		}
	}
	expectEvent(t, events, "add a")
}

func TestObjects_StartAnotherInformerForAnotherVersion(t *testing.T) {
	_, o, _ := newObjects(t)
	k := Kind{GVK: vms.GroupVersion().WithKind("VirtualMachine"), GVR: vms, Client: o.options.OwnClient}
	before, err := o.watch(k)
	if err != nil {
		t.Fatal(err)
	}
	same, err := o.watch(k)
	if err != nil || same != before {
		t.Errorf("another informer for the same version, error %v", err)
	}
	k.GVR.Version = "v2"
	after, err := o.watch(k)
	if err != nil || after == before || len(o.informers) != 1 {
		t.Errorf("%d kinds watched, error %v", len(o.informers), err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return before.IsStopped(), nil })
	if err != nil {
		t.Error("the informer of the previous version is still running")
	}
}
