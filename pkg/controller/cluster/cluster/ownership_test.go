// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
)

func TestCluster_UsesInfrastructureOnlyIfItControlsIt(t *testing.T) {
	by := func(kind, name, uid string, controls bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: kind, Name: name, UID: types.UID(uid), Controller: ptr.To(controls)}
	}
	const adopted = "False NotReady InfraCluster status.initialization.provisioned is false"
	for name, test := range map[string]struct {
		owner  []metav1.OwnerReference
		writes int
		says   string
	}{
		"no owner":                       {nil, 1, adopted},
		"an owner that does not control": {[]metav1.OwnerReference{by("Cluster", "other", "other", false)}, 1, adopted},
		"a deleted Cluster of this name": {[]metav1.OwnerReference{by("Cluster", "c", "earlier", true)}, 1, adopted},
		"another Cluster":                {[]metav1.OwnerReference{by("Cluster", "other", "other", true)}, 0, "False ObjectControlledByAnother InfraCluster c is controlled by Cluster other and not by this Cluster"},
		"a Machine":                      {[]metav1.OwnerReference{by("Machine", "c", "m", true)}, 0, "False ObjectControlledByAnother InfraCluster c is controlled by Machine c and not by this Cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := infra("")
				o.SetOwnerReferences(test.owner)
				fx := run(t, []runtime.Object{o}, theCluster())
				fx.advance(time.Hour)
				if n := count(fx.writes(), "update infraclusters"); n != test.writes {
					t.Errorf("the infrastructure was written %d times, want %d", n, test.writes)
				}
				fx.expectCondition(clusterv1alpha1.InfrastructureReadyCondition, test.says)
			})
		})
	}
}

func count(calls []string, call string) int {
	return len(calls) - len(slices.DeleteFunc(slices.Clone(calls), func(c string) bool { return c == call }))
}

func TestCluster_DoesNotDeleteInfrastructureOfAnotherCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, c := infra(""), theCluster()
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "Cluster", Name: "other", UID: "other", Controller: ptr.To(true)}})
		c.DeletionTimestamp = ptr.To(metav1.Now())
		fx := run(t, []runtime.Object{o}, c)
		fx.advance(time.Minute)
		if got, err := fx.world.Resource(infras).Namespace("dev").Get(context.Background(), "c", metav1.GetOptions{}); err != nil || got.GetDeletionTimestamp() != nil {
			t.Errorf("the infrastructure of the other Cluster is deleted: %v", err)
		}
		if all, err := fx.api.ClusterV1alpha1().Clusters("dev").List(context.Background(), metav1.ListOptions{}); err != nil || len(all.Items) != 0 {
			t.Errorf("%d Clusters remain (%v), want none", len(all.Items), err)
		}
	})
}

func TestCluster_LimitsWritesOfInfrastructureThatAnotherClientReverts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := run(t, []runtime.Object{infra("")}, theCluster())
		fx.writes()
		for range 100 { // Another operator removes owners and labels.
			fx.removeOwners()
		}
		if n := count(fx.writes(), "update infraclusters"); n < 20 || n > 40 {
			t.Errorf("the infrastructure was written %d times in 100 s, want 20 to 40", n)
		}
		fx.expectCondition(clusterv1alpha1.InfrastructureReadyCondition, "False TooManyWrites InfraCluster c was written 20 times in quick succession and is now written at most every 6s: another client or controller may change it back")
	})
}

// removeOwners removes owners and labels of the infrastructure.
func (fx *fixture) removeOwners() {
	fx.t.Helper()
	was, err := fx.world.Tracker().Get(infras, "dev", "c")
	if err != nil {
		fx.t.Fatal(err)
	}
	o := infra("")
	if err := fx.world.Tracker().Update(infras, o, "dev"); err != nil {
		fx.t.Fatal(err)
	}
	o.SetResourceVersion("new")
	fx.handler.OnUpdate(was, o)
	fx.advance(time.Second)
}
