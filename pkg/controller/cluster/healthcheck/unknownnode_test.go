// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

// A Machine is created while the cluster does not answer. Its Node is found when the cluster answers again, and only
// then added to the nodeRef.
func TestHealthCheck_DoesNotCountUnknownNodesAsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := run(t, theCluster(), theCheck(), theMachine("a", nodeless, func(m *machine) { m.Spec.ProviderID = "a" }), theMachine("late", nodeless))
		connected := func(nodes map[string]*corev1.Node) {
			fx.mu.Lock()
			fx.nodes = nodes
			fx.mu.Unlock()
			fx.callback(types.NamespacedName{Namespace: "dev", Name: "c"})
		}
		connected(nil)
		fx.until(600)
		fx.expectConditions("the cluster does not answer", "a", "")
		connected(map[string]*corev1.Node{"a": node("a", corev1.ConditionTrue, 4)})
		fx.until(602)
		fx.expectConditions("its Node exists", "a", "")
		fx.expectConditions("it has no Node", "late", "False NodeStartupTimeout, False WaitingForRemediation")
	})
	synctest.Test(t, func(t *testing.T) {
		in := theCluster()
		uninitialized(in)
		fx := run(t, in, theCheck(), theMachine("first", nodeless, func(m *machine) { m.Labels[clusterv1alpha1.MachineControlPlaneLabel] = "" }))
		fx.mu.Lock()
		fx.nodes = nil
		fx.mu.Unlock()
		fx.until(30)
		fx.mu.Lock()
		if fx.lookups == 0 {
			t.Error("the Nodes of a cluster with infrastructure are not looked up")
		}
		fx.mu.Unlock()
		fx.expectConditions("the Machine that blocks the cluster", "first", "False NodeStartupTimeout, False WaitingForRemediation")
	})
}

func TestHealthCheck_DoesNotConnectToClustersWithoutInfrastructure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := theCluster()
		in.Status.Conditions = nil
		fx := run(t, in, theCheck(), theMachine("a", nodeless))
		fx.until(30)
		fx.mu.Lock()
		defer fx.mu.Unlock()
		if fx.lookups > 0 {
			t.Errorf("%d lookups of its Nodes", fx.lookups)
		}
	})
}
