// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
)

// MB107-113, MD2, MT15: a drain is useful if the API server outlives the Machine. The last Machine of a control plane,
// or of a deleted Cluster, takes it away. Cluster API drains no Machine of a Cluster without control plane Machines.
func TestRefusal_DrainsOnlyIfTheClusterOutlivesTheMachine(t *testing.T) {
	goesToo := func(c *cluster) { c.DeletionTimestamp = pointer(metav1.NewTime(began)) }
	plane := other("ExampleControlPlane", "cp", nil)
	external := other("ExampleControlPlane", "cp", map[string]any{"status": map[string]any{"externalManagedControlPlane": true}})
	peer := newMachine(named("peer"), running, ofControlPlane)
	dying := newMachine(named("peer"), running, ofControlPlane, deleted)
	stranger := newMachine(named("peer"), running, ofControlPlane, func(m *machine) { m.Spec.ClusterName = "other" })
	tests := map[string]struct {
		machine []func(*machine)
		cluster []func(*cluster)
		others  []runtime.Object
		// nodeless is true if the Node has another provider ID.
		nodeless bool
		want     string
	}{
		"no Node":                             {machine: []func(*machine){provisioned}, nodeless: true, want: "the Machine has no Node"},
		"no control plane object":             {machine: []func(*machine){running}},
		"a control plane of another Cluster":  {machine: []func(*machine){running}, others: []runtime.Object{stranger}},
		"a control plane Machine remains":     {machine: []func(*machine){running}, others: []runtime.Object{peer}},
		"one of two control plane Machines":   {machine: []func(*machine){running, ofControlPlane}, others: []runtime.Object{peer}},
		"the last control plane Machine":      {machine: []func(*machine){running, ofControlPlane}, want: "no other Machine of the control plane is left"},
		"all control plane Machines deleted":  {machine: []func(*machine){running}, others: []runtime.Object{dying}, want: "no other Machine of the control plane is left"},
		"a control plane without Machines":    {machine: []func(*machine){running}, cluster: []func(*cluster){withControlPlane}, others: []runtime.Object{plane}, want: "no other Machine of the control plane is left"},
		"a control plane elsewhere":           {machine: []func(*machine){running}, cluster: []func(*cluster){withControlPlane}, others: []runtime.Object{external}},
		"a control plane that does not exist": {machine: []func(*machine){running}, cluster: []func(*cluster){withControlPlane}},
		"a deleted control plane":             {machine: []func(*machine){running}, cluster: []func(*cluster){withControlPlane}, others: []runtime.Object{goes(plane.DeepCopy())}, want: "the control plane is being deleted"},
		"a deleted external control plane":    {machine: []func(*machine){running}, cluster: []func(*cluster){withControlPlane}, others: []runtime.Object{goes(external.DeepCopy())}, want: "the control plane is being deleted"},
		"the Cluster is deleted":              {machine: []func(*machine){running}, cluster: []func(*cluster){goesToo}, want: "the Cluster is being deleted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{newMachine(append(test.machine, deleted)...), newCluster(test.cluster...), infraThere()}
			n := newNode()
			if test.nodeless {
				n.Spec.ProviderID = "example://2"
			}
			objects = append(objects, n)
			for _, o := range test.others {
				objects = append(objects, o.DeepCopyObject())
			}
			w := newFixture(t, objects...)
			w.reconcile()
			if got := w.drained > 0; got != (test.want == "") {
				t.Errorf("drained %t", got)
			}
			if got, err := w.c.reconcile.deletion.SkipNodeReason(t.Context(), w.state(), &step.Report{}); got != test.want || err != nil {
				t.Errorf("refusal %q, error %v; want %q", got, err, test.want)
			}
			w.reconcile()
			if gone := len(w.machine().Finalizers) == 0; !gone {
				t.Errorf("the Machine is still in stage %s", w.stage())
			}
			if test.want == "" == w.hasNode() {
				t.Errorf("Node exists: %t", w.hasNode())
			}
		})
	}
}

// state returns the state of a reconcile.
func (w *fixture) state() *step.State {
	w.t.Helper()
	m, r := w.machine(), w.c.reconcile
	s := &step.State{Now: w.now, Stored: m, Machine: m.DeepCopy()}
	var err error
	if s.Cluster, err = controller.IgnoreNotFound(r.clusters.Clusters(m.Namespace).Get(m.Spec.ClusterName)); err != nil {
		w.t.Fatal(err)
	}
	s.Infra = r.external.Read(w.t.Context(), m.Namespace, m.Spec.InfrastructureRef)
	r.nodes.Connect(s)
	return s
}

// MT33: a control plane that cannot be read does not count as missing.
func TestRefusal_WaitsWhileTheControlPlaneCannotBeRead(t *testing.T) {
	w := newFixture(t, newMachine(running, deleted), newCluster(withControlPlane), infraThere(), newNode())
	w.unread["ExampleControlPlane"] = contract.ErrUnreadable
	w.expectError("checking whether the Node may be deleted: control plane: could not be read")
	w.expect("Deleting", "True InternalError", "checking whether the Node may be deleted: control plane: "+contract.ErrUnreadable.Error())
	if w.stage() != "" || w.drained > 0 || w.object("ExampleMachine", "i") == nil {
		t.Errorf("stage %s", w.stage())
	}
}

// MB114, MB151
func TestDeletion_FindsTheNodeAgain(t *testing.T) {
	w := newFixture(t, newMachine(deleted), newCluster(), infraThere(), newNode())
	w.set("ExampleMachine", "i", false, "status", "initialization", "provisioned")
	w.reconcile()
	if w.machine().Status.NodeRef.Name != "n" || w.drained != 1 {
		t.Errorf("Node %q, drained %d times", w.machine().Status.NodeRef.Name, w.drained)
	}
	w.reconcile()
	if w.hasNode() {
		t.Error("the Node was not deleted")
	}
}
