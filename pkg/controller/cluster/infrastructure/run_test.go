// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package infrastructure

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/clusterapi"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// fixture runs the controller against a fake server with a fake clock.
type fixture struct {
	t   *testing.T
	api *fake.Clientset

	mu       sync.Mutex
	cluster  *clusterapi.Cluster
	handlers clusterapi.Handlers
	writes   int
}

func (f *fixture) Cluster(string, types.NamespacedName) (*clusterapi.Cluster, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cluster, nil
}

func (f *fixture) Watch(h clusterapi.Handlers) { f.handlers = h }

// settle advances the fake clock by a second.
func settle() {
	time.Sleep(time.Second)
	synctest.Wait()
}

// change changes the Cluster and calls the handlers.
func (f *fixture) change(change func(*clusterapi.Cluster)) {
	f.mu.Lock()
	next := *f.cluster
	change(&next)
	f.cluster = &next
	f.mu.Unlock()
	f.handlers.Cluster("cluster.x-k8s.io", types.NamespacedName{Namespace: "ns", Name: "c"})
	settle()
}

// run starts the controller with objects until the test ends. It must be called in a synctest bubble.
func run(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, api: fake.NewSimpleClientset(objects...), cluster: &clusterapi.Cluster{Name: "c", UID: "uid-c",
		Infrastructure: clusterapi.Reference{Group: "vm.slipway.dev", Kind: "SlipwayCluster", Name: "shop"}}}
	version := 0
	stamp := func(action clienttesting.Action) (bool, runtime.Object, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		version++ // The fake server does not set resource versions, which caches compare.
		action.(clienttesting.CreateAction).GetObject().(metav1.Object).SetResourceVersion(strconv.Itoa(version))
		if action.GetSubresource() == "status" {
			f.writes++
		}
		return false, nil, nil
	}
	f.api.PrependReactor("update", "*", stamp)
	f.api.PrependReactor("create", "*", stamp)
	informers := externalversions.NewSharedInformerFactory(f.api, 0)
	zones := informers.Vm().V1alpha1().Zones().Informer()
	c, err := New(Deps{Client: f.api, Informers: informers, Clusters: f, NamespaceLabels: func(string) map[string]string { return map[string]string{} },
		Zones: func() ([]*vmv1alpha1.Zone, bool) {
			var all []*vmv1alpha1.Zone
			for _, obj := range zones.GetStore().List() {
				all = append(all, obj.(*vmv1alpha1.Zone))
			}
			return all, zones.HasSynced()
		}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait(); informers.Shutdown() })
	settle()
	return f
}

// status returns the reason of Ready, whether the object is provisioned, and the number of failure domains.
func (f *fixture) status() (ready string, provisioned bool, domains int) {
	f.t.Helper()
	s, err := f.api.VmV1alpha1().SlipwayClusters("ns").Get(f.t.Context(), "shop", metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	if c := conditions.Find(s.Status.Conditions, "Ready"); c != nil {
		ready = c.Reason
	}
	if conditions.IsTrue(s.Status.Conditions, "Paused") {
		ready = "Paused"
	}
	return ready, s.Status.Initialization != nil, len(s.Status.FailureDomains)
}

func TestSlipwayCluster_FollowsClusterAndZonesAndIsWrittenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := run(t, object(func(s *vmv1alpha1.SlipwayCluster) { s.Spec.ControlPlaneEndpoint = vmv1alpha1.APIEndpoint{} }), zone("a", nil))
		want := func(what, ready string, provisioned bool, domains int) {
			t.Helper()
			if r, p, d := f.status(); r != ready || p != provisioned || d != domains {
				t.Errorf("%s: %s, provisioned %v, %d failure domains; want %s, %v, %d", what, r, p, d, ready, provisioned, domains)
			}
		}
		want("at first", "WaitingForControlPlaneEndpoint", false, 1)
		f.change(func(c *clusterapi.Cluster) { c.Paused = true })
		want("paused", "Paused", false, 1)
		f.change(func(c *clusterapi.Cluster) { c.Host, c.Port = "h", 6443 })
		want("with an endpoint, paused", "Paused", false, 1)
		f.change(func(c *clusterapi.Cluster) { c.Paused = false })
		want("after the pause", "Succeeded", true, 1)
		if _, err := f.api.VmV1alpha1().Zones().Create(t.Context(), zone("b", nil), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		want("with another zone", "Succeeded", true, 2)
		f.mu.Lock()
		writes := f.writes
		f.mu.Unlock()
		time.Sleep(time.Hour)
		f.handlers.Group("cluster.x-k8s.io")
		settle()
		f.mu.Lock()
		defer f.mu.Unlock()
		if writes != 4 || f.writes != writes {
			t.Errorf("%d writes, and %d in an hour without changes; want 4 and none", writes, f.writes-writes)
		}
	})
}
