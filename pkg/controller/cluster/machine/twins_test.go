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

// newTwin is a second Node of the machine of "n", whose kubelet has registered under another name.
func newTwin() *corev1.Node {
	n := newNode()
	n.Name, n.UID = "twin", "uid-twin"
	return n
}

// nodesLeft returns the names of the Nodes of the workload cluster.
func (w *world) nodesLeft() []string {
	w.t.Helper()
	list, err := w.workload.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, n := range list.Items {
		names = append(names, n.Name)
	}
	return names
}

// The pods of both end with the VM.
func TestDeletion_DrainsAndDeletesAllNodesOfTheMachine(t *testing.T) {
	for name, test := range map[string]struct {
		machine *machine
		dead    string
	}{
		"the Machine names the dead one":   {newMachine(running, deleted), "n"},
		"the Machine names the live one":   {newMachine(running, deleted), "twin"},
		"the Machine names none":           {newMachine(provisioned, deleted), "n"},
		"neither is Ready, and none named": {newMachine(provisioned, deleted), "n twin"},
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
			w := newWorld(t, test.machine, newCluster(), infraThere(), nodes[0], nodes[1], nodes[2])
			busy := map[string]bool{"n": true, "twin": true}
			var drained, detached []string
			w.c.reconcile.deletion.Drain = func(_ context.Context, _ kubernetes.Interface, in drain.Input) (drain.Result, error) {
				drained = append(drained, in.Node)
				if busy[in.Node] {
					return drain.Result{Message: "* pods of " + in.Node}, nil
				}
				return drain.Result{Done: true}, nil
			}
			w.c.reconcile.deletion.Detach = func(_ context.Context, _ kubernetes.Interface, in drain.Input) (drain.Result, error) {
				detached = append(detached, in.Node)
				return drain.Result{Done: true}, nil
			}
			w.pass()
			if _, message := w.says("Deleting"); w.stage() != "Drain" || !strings.Contains(message, "* pods of n") || !strings.Contains(message, "* pods of twin") {
				t.Fatalf("stage %s, Deleting has message %q, want it to name the pods of both", w.stage(), message)
			}
			busy["n"] = false
			w.now = w.now.Add(drain.Retry)
			if w.pass(); w.stage() != "Drain" {
				t.Fatalf("stage %s while one Node is not drained", w.stage())
			}
			drained, busy["twin"] = nil, false
			w.now = w.now.Add(drain.Retry)
			w.pass()
			for _, got := range [][]string{drained, detached} {
				if slices.Sort(got); !slices.Equal(got, []string{"n", "twin"}) {
					t.Errorf("drained %v, waited for the volumes of %v; want those of n and twin", drained, detached)
				}
			}
			w.pass()
			if diff := cmp.Diff([]string{"stranger"}, w.nodesLeft()); diff != "" || len(w.machine().Finalizers) != 0 {
				t.Errorf("finalizers %v, Nodes left (-want +got):\n%s", w.machine().Finalizers, diff)
			}
		})
	}
}

// An error of one Node is no reason to leave the pods of the other.
func TestDeletion_DrainsANodeAlthoughAnotherFails(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted), newCluster(), infraThere(), newNode(), newTwin())
	var drained []string
	w.c.reconcile.deletion.Drain = func(_ context.Context, _ kubernetes.Interface, in drain.Input) (drain.Result, error) {
		if in.Node == "n" {
			return drain.Result{}, errors.New("refused")
		}
		drained = append(drained, in.Node)
		return drain.Result{Done: true}, nil
	}
	w.failing("draining Node n, twin: refused")
	if w.stage() != "Drain" || !slices.Equal(drained, []string{"twin"}) {
		t.Errorf("stage %s, drained %v, want twin", w.stage(), drained)
	}
	w.expect("Deleting", "True DrainingNode", "Error draining Node n, twin: refused")
}

// Another Node of the machine may be among those that are being read.
func TestDeletion_WaitsUntilAllNodesOfTheMachineAreKnown(t *testing.T) {
	w := newWorld(t, newMachine(running, deleted), newCluster(), infraThere(), newNode(), newTwin())
	w.reading = true
	w.pass()
	if _, message := w.says("Deleting"); w.stage() != "Drain" || w.drained != 0 || !strings.HasSuffix(message, "\n* the Nodes of the workload cluster are being read") {
		t.Fatalf("stage %s, %d drains, Deleting has message %q", w.stage(), w.drained, message)
	}
	w.reading = false
	if w.pass(); w.drained != 2 {
		t.Errorf("%d drains, want one of each Node", w.drained)
	}
}

// Kubelets write the UUID of a virtual machine in upper or lower case.
func TestController_FindsMachinesByProviderIDsInAnyCase(t *testing.T) {
	w := newWorld(t, newMachine(func(m *machine) { m.Spec.ProviderID = "vsphere://1f38-a" }), newCluster())
	key := types.NamespacedName{Namespace: ns, Name: "c"}
	if !w.c.HasMachine(key, "vsphere://1F38-A") || w.c.HasMachine(key, "vsphere://1F38-B") {
		t.Error("a Machine is not found by its provider ID in upper case, or is found by another one")
	}
	w.c.OnNode(key, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: "vsphere://1F38-A"}})
	if got := w.c.Keys.Len(); got != 1 {
		t.Errorf("%d Machines are queued for a Node with the provider ID in upper case, want 1", got)
	}
}
