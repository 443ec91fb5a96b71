// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
)

// newTwin returns a second Node of the machine of "n", whose kubelet has registered under another name.
func newTwin() *corev1.Node {
	n := newNode()
	n.Name, n.UID = "twin", "uid-twin"
	return n
}

// nodesLeft returns the names of the Nodes in the workload cluster.
func (f *fixture) nodesLeft() []string {
	f.t.Helper()
	list, err := f.workload.CoreV1().Nodes().List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	return names
}

// The pods of both Nodes run on the VM.
func TestDeletion_DrainsAndDeletesAllNodesOfTheMachine(t *testing.T) {
	for name, test := range map[string]struct {
		machine *machine
		dead    string
	}{
		"the nodeRef is the dead Node": {newMachine(running, deleted), "n"},
		"the nodeRef is the live Node": {newMachine(running, deleted), "twin"},
		"there is no nodeRef":          {newMachine(provisioned, deleted), "n"},
		"neither is Ready, no nodeRef": {newMachine(provisioned, deleted), "n twin"},
	} {
		t.Run(name, func(t *testing.T) {
			stranger := newNode()
			stranger.Name, stranger.UID, stranger.Spec.ProviderID = "stranger", "uid-stranger", "example://2"
			nodes := []*corev1.Node{newNode(), newTwin(), stranger}
			for _, n := range nodes {
				if slices.Contains(strings.Fields(test.dead), n.Name) {
					silent(n)
				}
			}
			f := newFixture(t, test.machine, newCluster(), provisionedInfra(), nodes[0], nodes[1], nodes[2])
			busy := map[string]bool{"n": true, "twin": true}
			var drained, detached []string
			f.c.reconcile.deletion.Drain = func(_ context.Context, _ kubernetes.Interface, in drain.Input) (drain.Result, error) {
				drained = append(drained, in.Node)
				if busy[in.Node] {
					return drain.Result{Message: "* pods of " + in.Node}, nil
				}
				return drain.Result{Done: true}, nil
			}
			f.c.reconcile.deletion.Detach = func(_ context.Context, _ kubernetes.Interface, in drain.Input) (drain.Result, error) {
				detached = append(detached, in.Node)
				return drain.Result{Done: true}, nil
			}
			f.reconcile()
			if _, message := f.condition("Deleting"); f.stage() != "Drain" || !strings.Contains(message, "* pods of n") || !strings.Contains(message, "* pods of twin") {
				t.Fatalf("stage %s, Deleting has message %q, want the pods of both", f.stage(), message)
			}
			busy["n"] = false
			f.now = f.now.Add(drain.Retry)
			if f.reconcile(); f.stage() != "Drain" {
				t.Fatalf("stage %s while one Node is not drained", f.stage())
			}
			drained, busy["twin"] = nil, false
			f.now = f.now.Add(drain.Retry)
			f.reconcile()
			for _, got := range [][]string{drained, detached} {
				if slices.Sort(got); !slices.Equal(got, []string{"n", "twin"}) {
					t.Errorf("drained %v, waited for the volumes of %v; want n and twin", drained, detached)
				}
			}
			f.reconcile()
			if diff := cmp.Diff([]string{"stranger"}, f.nodesLeft()); diff != "" || len(f.machine().Finalizers) != 0 {
				t.Errorf("finalizers %v, Nodes left (-want +got):\n%s", f.machine().Finalizers, diff)
			}
		})
	}
}

// An error of one Node does not prevent the drain of the other.
func TestDeletion_DrainsANodeEvenIfAnotherFails(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(), provisionedInfra(), newNode(), newTwin())
	var drained []string
	f.c.reconcile.deletion.Drain = func(_ context.Context, _ kubernetes.Interface, in drain.Input) (drain.Result, error) {
		if in.Node == "n" {
			return drain.Result{}, errors.New("refused")
		}
		drained = append(drained, in.Node)
		return drain.Result{Done: true}, nil
	}
	f.expectError("draining Node n, twin: refused")
	if f.stage() != "Drain" || !slices.Equal(drained, []string{"twin"}) {
		t.Errorf("stage %s, drained %v, want twin", f.stage(), drained)
	}
	f.expect("Deleting", "True DrainingNode", "Error draining Node n, twin: refused")
}

// Another Node of the machine may be among those that are being read.
func TestDeletion_WaitsUntilAllNodesOfTheMachineAreKnown(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(), provisionedInfra(), newNode(), newTwin())
	f.reading = true
	f.reconcile()
	if _, message := f.condition("Deleting"); f.stage() != "Drain" || f.drained != 0 || !strings.HasSuffix(message, "\n* the Nodes of the workload cluster are being read") {
		t.Fatalf("stage %s, %d drains, Deleting has message %q", f.stage(), f.drained, message)
	}
	f.reading = false
	if f.reconcile(); f.drained != 2 {
		t.Errorf("%d drains, want one for each Node", f.drained)
	}
}

// Kubelets write the UUID of a virtual machine in upper or lower case.
func TestController_FindsMachinesByProviderIDsInAnyCase(t *testing.T) {
	f := newFixture(t, newMachine(func(m *machine) { m.Spec.ProviderID = "vsphere://1f38-a" }), newCluster())
	key := types.NamespacedName{Namespace: ns, Name: "c"}
	if !f.c.HasMachine(key, "vsphere://1F38-A") || f.c.HasMachine(key, "vsphere://1F38-B") {
		t.Error("a Machine is not found by its provider ID in upper case, or is found by another one")
	}
	f.c.OnNode(key, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: "vsphere://1F38-A"}})
	if got := f.c.Keys.Len(); got != 1 {
		t.Errorf("%d Machines are queued for a Node with the provider ID in upper case, want 1", got)
	}
}
