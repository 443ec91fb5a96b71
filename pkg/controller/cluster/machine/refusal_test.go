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

// Behaviors MB107-113, MD2, MT15 of test/behaviours: a drain is useful if the API server outlives the Machine. The API
// server does not outlive the last Machine of its control plane, nor a Machine of a deleted Cluster. Cluster API drains
// no Machine of a Cluster without control plane Machines.
func TestSkipNodeReason_DrainsOnlyIfTheClusterOutlivesTheMachine(t *testing.T) {
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
		"a deleted control plane":             {machine: []func(*machine){running}, cluster: []func(*cluster){withControlPlane}, others: []runtime.Object{markDeleting(plane.DeepCopy())}, want: "the control plane is being deleted"},
		"a deleted external control plane":    {machine: []func(*machine){running}, cluster: []func(*cluster){withControlPlane}, others: []runtime.Object{markDeleting(external.DeepCopy())}, want: "the control plane is being deleted"},
		"the Cluster is deleted":              {machine: []func(*machine){running}, cluster: []func(*cluster){goesToo}, want: "the Cluster is being deleted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{newMachine(append(test.machine, deleted)...), newCluster(test.cluster...), provisionedInfra()}
			n := newNode()
			if test.nodeless {
				n.Spec.ProviderID = "example://2"
			}
			objects = append(objects, n)
			for _, o := range test.others {
				objects = append(objects, o.DeepCopyObject())
			}
			f := newFixture(t, objects...)
			f.reconcile()
			if got := f.drained > 0; got != (test.want == "") {
				t.Errorf("drained %t", got)
			}
			if got, err := f.c.reconcile.deletion.SkipNodeReason(t.Context(), f.state(), &step.Report{}); got != test.want || err != nil {
				t.Errorf("refusal %q, error %v; want %q", got, err, test.want)
			}
			f.reconcile()
			if gone := len(f.machine().Finalizers) == 0; !gone {
				t.Errorf("the Machine is still in stage %s", f.stage())
			}
			if test.want == "" == f.hasNode() {
				t.Errorf("Node exists: %t", f.hasNode())
			}
		})
	}
}

// state returns the state of a reconcile.
func (f *fixture) state() *step.State {
	f.t.Helper()
	m, r := f.machine(), f.c.reconcile
	s := &step.State{Now: f.now, Stored: m, Machine: m.DeepCopy()}
	var err error
	if s.Cluster, err = controller.IgnoreNotFound(r.clusters.Clusters(m.Namespace).Get(m.Spec.ClusterName)); err != nil {
		f.t.Fatal(err)
	}
	s.Infra = r.external.Read(f.t.Context(), m.Namespace, m.Spec.InfrastructureRef)
	r.nodes.Connect(s)
	return s
}

// Behaviors MT33 of test/behaviours: a control plane that cannot be read does not count as missing.
func TestSkipNodeReason_WaitsWhileTheControlPlaneCannotBeRead(t *testing.T) {
	f := newFixture(t, newMachine(running, deleted), newCluster(withControlPlane), provisionedInfra(), newNode())
	f.unread["ExampleControlPlane"] = contract.ErrUnreadable
	f.expectError("checking whether the Node may be deleted: control plane: could not be read")
	f.expect("Deleting", "True InternalError", "checking whether the Node may be deleted: control plane: "+contract.ErrUnreadable.Error())
	if f.stage() != "" || f.drained > 0 || f.object("ExampleMachine", "i") == nil {
		t.Errorf("stage %s", f.stage())
	}
}

// Behaviors MB114, MB151 of test/behaviours.
func TestDeletion_FindsTheNodeAgain(t *testing.T) {
	f := newFixture(t, newMachine(deleted), newCluster(), provisionedInfra(), newNode())
	f.set("ExampleMachine", "i", false, "status", "initialization", "provisioned")
	f.reconcile()
	if f.machine().Status.NodeRef.Name != "n" || f.drained != 1 {
		t.Errorf("Node %q, drained %d times", f.machine().Status.NodeRef.Name, f.drained)
	}
	f.reconcile()
	if f.hasNode() {
		t.Error("the Node was not deleted")
	}
}
