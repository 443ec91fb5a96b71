// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/pkg/apis/bounds"
	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
)

// Behaviors MB63-64, MB67-69, MT11-12, MT29 of test/behaviours.
func TestNodeSync_FindsTheNodeByProviderID(t *testing.T) {
	twin := newNode()
	twin.Name = "twin"
	upper := newNode()
	upper.Spec.ProviderID = strings.ToUpper(providerID)
	stranger := newNode()
	stranger.Name, stranger.Spec.ProviderID = "stranger", "example://2"
	tests := map[string]struct {
		machine []func(*machine)
		infra   runtime.Object
		nodes   []*corev1.Node
		fails   string
		node    string
		healthy string
	}{
		"no provider ID": {infra: infra(), nodes: []*corev1.Node{newNode()}, healthy: "Unknown InspectionFailed Waiting for ExampleMachine to report spec.providerID"},
		"no Node yet": {
			infra: provisionedInfra(), nodes: []*corev1.Node{stranger},
			healthy: "Unknown InspectionFailed Waiting for a Node with spec.providerID example://1 to exist",
		},
		"its Node":                            {infra: provisionedInfra(), nodes: []*corev1.Node{stranger, newNode()}, node: "n", healthy: "True NodeHealthy "},
		"its Node, with the ID in upper case": {infra: provisionedInfra(), nodes: []*corev1.Node{upper}, node: "n", healthy: "True NodeHealthy "},
		"two Nodes, one is Ready": {
			infra: provisionedInfra(), nodes: []*corev1.Node{silent(newNode()), twin}, node: "twin",
			healthy: "True NodeHealthy * 2 Nodes have provider ID example://1: n (Ready=Unknown), twin (Ready=True); twin is the Node of this Machine, delete n",
		},
		"two Nodes, the other one is Ready": {
			machine: []func(*machine){running}, infra: provisionedInfra(), nodes: []*corev1.Node{silent(newNode()), twin}, node: "twin",
			healthy: "True NodeHealthy * 2 Nodes have provider ID example://1: n (Ready=Unknown), twin (Ready=True); twin is the Node of this Machine, delete n",
		},
		"two Nodes, one has the name of the guest": {
			machine: []func(*machine){func(m *machine) {
				m.Status.Addresses = []clusterv1alpha1.MachineAddress{{Type: clusterv1alpha1.MachineHostName, Address: "TWIN"}}
			}},
			infra: provisionedInfra(), nodes: []*corev1.Node{newNode(), twin}, node: "twin",
			healthy: "True NodeHealthy * 2 Nodes have provider ID example://1: n (Ready=True), twin (Ready=True); twin is the Node of this Machine, delete n",
		},
		"two Nodes, one is known": {
			machine: []func(*machine){running}, infra: provisionedInfra(), nodes: []*corev1.Node{newNode(), twin}, node: "n",
			healthy: "True NodeHealthy * 2 Nodes have provider ID example://1: n (Ready=True), twin (Ready=True); n is the Node of this Machine, delete twin",
		},
		"two Nodes, and nothing decides": {
			infra: provisionedInfra(), nodes: []*corev1.Node{newNode(), twin},
			healthy: "Unknown NodeAmbiguous 2 Nodes have provider ID example://1: n (Ready=True), twin (Ready=True); delete the Nodes that do not belong to this Machine",
		},
		"its Node is deleted": {
			machine: []func(*machine){running}, infra: provisionedInfra(), fails: "node: Node n of the Machine was deleted", node: "n",
			healthy: "False NodeDeleted Node n has been deleted while the Machine still exists",
		},
		"its Node and the Machine are deleted": {machine: []func(*machine){running, deleted, annotated(preTerminate, "")}, infra: provisionedInfra(), node: "n", healthy: "False NodeDeleted Node n has been deleted"},
		"its infrastructure is deleted":        {machine: []func(*machine){running}, infra: markDeleting(provisionedInfra()), nodes: []*corev1.Node{newNode()}, node: "n", healthy: "True NodeHealthy "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{newMachine(test.machine...), newCluster(), test.infra}
			for _, n := range test.nodes {
				objects = append(objects, n.DeepCopy())
			}
			f := newFixture(t, objects...)
			if test.fails != "" {
				f.expectError(test.fails)
			} else {
				f.reconcile()
			}
			if got := f.machine().Status.NodeRef.Name; got != test.node {
				t.Errorf("Node %q", got)
			}
			if is, message := f.condition("NodeHealthy"); is+" "+message != test.healthy {
				t.Errorf("NodeHealthy is %q, want %q", is+" "+message, test.healthy)
			}
		})
	}
}

// silent returns a Node whose kubelet no longer reports.
func silent(n *corev1.Node) *corev1.Node {
	for i := range n.Status.Conditions {
		n.Status.Conditions[i].Status = corev1.ConditionUnknown
	}
	return n
}

// Behaviors MB66, MB73, MB85, MC25 of test/behaviours.
func TestNodeSync_PatchesTheNodeOnce(t *testing.T) {
	f := newFixture(t, newMachine(func(m *machine) { m.Labels[clusterv1alpha1.ManagedNodeLabelDomain+"/rack"] = "7" }), newCluster(), provisionedInfra(), newNode())
	f.set("ExampleMachine", "i", true, "status", "interruptible")
	f.reconcile()
	n, err := f.workload.CoreV1().Nodes().Get(t.Context(), "n", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, interruptible := n.Labels[clusterv1alpha1.InterruptibleLabel]
	if n.Labels[clusterv1alpha1.ManagedNodeLabelDomain+"/rack"] != "7" || !interruptible || n.Annotations[clusterv1alpha1.MachineAnnotation] != "m" {
		t.Errorf("labels %v, annotations %v", n.Labels, n.Annotations)
	}
	if diff := cmp.Diff([]string{"SuccessfulSetNodeRef", "SuccessfulSetInterruptibleNodeLabel"}, f.eventReasons()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	// The next reconcile reads that the Node is up to date, and the following ones do not read it.
	for _, reads := range []int{1, 0, 0} {
		f.workload.ClearActions()
		f.reconcile()
		for _, a := range f.workload.Actions() {
			if a.GetVerb() == "patch" {
				t.Error("the Node was patched without changes")
			}
			if a.GetVerb() == "get" {
				reads--
			}
		}
		if reads != 0 {
			t.Errorf("the Node was read %d times fewer than expected", reads)
		}
	}
	if got := f.eventReasons(); len(got) != 0 {
		t.Errorf("events %v without changes", got)
	}
}

// The API server would reject the whole status because of one invalid string.
func TestNodeInfo_RemovesInvalidCharacters(t *testing.T) {
	n := newNode()
	n.Status.NodeInfo = corev1.NodeSystemInfo{OSImage: "Photon\x1b[2J OS", KernelVersion: strings.Repeat("6é", bounds.MaxText), KubeletVersion: "v1.36.3"}
	f := newFixture(t, newMachine(), newCluster(), provisionedInfra(), n)
	f.reconcile()
	is := f.machine().Status.NodeInfo
	if errs := bounds.ValidateSpec(is, nil); len(errs) > 0 {
		t.Errorf("the API server rejects %v", errs)
	}
	if is.OSImage != "Photon[2J OS" || is.KubeletVersion != "v1.36.3" || !strings.HasPrefix(is.KernelVersion, "6é6é") {
		t.Errorf("nodeInfo is %+v", is)
	}
}

func TestNodeSync_SetsTheNodeRefIfThePatchFails(t *testing.T) {
	f := newFixture(t, newMachine(), newCluster(), provisionedInfra(), newNode())
	f.workload.PrependReactor("patch", "nodes", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("refused")
	})
	f.expectError("synchronizing n: refused")
	if got := f.machine().Status.NodeRef.Name; got != "n" {
		t.Errorf("Node %q", got)
	}
}

// Behaviors MB94 of test/behaviours: a missing connection is not an error, and the last conditions are kept for a
// while.
func TestNodeSync_WaitsForTheConnection(t *testing.T) {
	f := newFixture(t, newMachine(provisioned), newCluster(), provisionedInfra(), newNode())
	f.down = workload.ErrNotConnected
	f.reconcile()
	f.expect("NodeHealthy", "Unknown ConnectionDown", "Remote connection not established yet")
	f.down = nil
	f.reconcile()
	f.expect("NodeHealthy", "True NodeHealthy", "")
	f.down, f.probed = workload.ErrNotConnected, f.now
	f.reconcile()
	f.expect("NodeHealthy", "True NodeHealthy", "")
	f.now = f.now.Add(301e9)
	f.reconcile()
	f.expect("NodeHealthy", "Unknown ConnectionDown", "Last successful probe at 2026-05-01T12:00:00Z")
}

func TestNodeSync_DoesNotConnectBeforeTheInfrastructureIsProvisioned(t *testing.T) {
	f := newFixture(t, newMachine(provisioned), newCluster(func(c *cluster) { c.Status.Initialization.InfrastructureProvisioned = nil }), provisionedInfra(), newNode())
	f.reconcile()
	f.expect("NodeHealthy", "Unknown InspectionFailed", "Waiting for Cluster status.initialization.infrastructureProvisioned to be true")
	if len(f.workload.Actions()) != 0 {
		t.Errorf("requests to the workload cluster: %v", f.workload.Actions())
	}
}

// MD6: Cluster API watches no Nodes before the control plane of the Cluster is initialized, so it finds the first Node
// late.
func TestNodeSync_FindsTheNodeBeforeTheControlPlaneIsInitialized(t *testing.T) {
	f := newFixture(t, newMachine(ofControlPlane), newCluster(func(c *cluster) { c.Status.Conditions = nil }), provisionedInfra(), newNode())
	f.reconcile()
	if got := f.machine().Status.NodeRef.Name; got != "n" {
		t.Errorf("Node %q", got)
	}
}
