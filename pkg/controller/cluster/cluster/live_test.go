// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/test/livecontroller"
)

var infras = schema.GroupVersionResource{Group: "provider.dev", Version: "v1", Resource: "infraclusters"}

// fixture runs the controller against a fake server with a fake clock.
type fixture struct {
	t        *testing.T
	api      *fake.Clientset
	world    *dynamicfake.FakeDynamicClient
	handler  cache.ResourceEventHandler
	callback func(types.NamespacedName)

	mu        sync.Mutex
	connected error
	success   time.Time
	failures  int
	unread    error
	calls     []string
}

// ConnectionError implements Connections.
func (fx *fixture) ConnectionError(types.NamespacedName) error {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	return fx.connected
}

// Probe implements Connections.
func (fx *fixture) Probe(types.NamespacedName) (time.Time, int) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	if fx.connected == nil {
		return time.Now(), 0
	}
	return fx.success, fx.failures
}

// OnCluster implements Connections.
func (fx *fixture) OnCluster(f func(types.NamespacedName)) { fx.callback = f }

// Get implements External.
func (fx *fixture) Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error) {
	fx.mu.Lock()
	err := fx.unread
	fx.mu.Unlock()
	kind := contract.Kind{GVK: infras.GroupVersion().WithKind(ref.Kind), GVR: infras, Version: contract.V1Beta2, Client: fx.world}
	if err != nil {
		return nil, kind, err
	}
	o, err := fx.world.Resource(infras).Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	return o, kind, err
}

// Wait implements External.
func (fx *fixture) Wait() {}

func theCluster() *cluster {
	c := &cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "c", UID: "c", Generation: 1, Finalizers: []string{clusterv1alpha1.ClusterFinalizer}}}
	c.Spec.InfrastructureRef = clusterv1alpha1.ContractVersionedObjectReference{APIGroup: "provider.dev", Kind: "InfraCluster", Name: "c"}
	return c
}

func infra(more string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON([]byte(`{"apiVersion":"provider.dev/v1","kind":"InfraCluster","metadata":{"namespace":"dev","name":"c","uid":"infra"}` + more + "}")); err != nil {
		panic(err)
	}
	return o
}

const provisioned = `,"spec":{"controlPlaneEndpoint":{"host":"10.0.0.1","port":6443}},"status":{"initialization":{"provisioned":true},"failureDomains":[{"name":"b"},{"name":"a","controlPlane":true,"attributes":{"x":"y"}}]}`

// run starts the controller with objects and without a connection. It must be called in a synctest bubble.
func run(t *testing.T, external []runtime.Object, objects ...runtime.Object) *fixture {
	t.Helper()
	fx := &fixture{t: t, api: fake.NewSimpleClientset(objects...), connected: errors.New("connection refused")}
	fx.world = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{infras: "InfraClusterList"}, external...)
	versions := livecontroller.Versions{}
	answer := func(action clienttesting.Action) (bool, runtime.Object, error) {
		fx.mu.Lock()
		defer fx.mu.Unlock()
		what := livecontroller.Call(action)
		fx.calls = append(fx.calls, what)
		if write, ok := action.(clienttesting.CreateAction); ok {
			versions.Stamp(action)
			o := write.GetObject().(metav1.Object)
			if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 { // Like a real server.
				return true, nil, fx.api.Tracker().Delete(action.GetResource(), action.GetNamespace(), o.GetName())
			}
		}
		if action.GetVerb() == "delete" && what == "delete infraclusters" { // It has a finalizer.
			name := action.(clienttesting.DeleteAction).GetName()
			obj, err := fx.world.Tracker().Get(infras, "dev", name)
			if err != nil {
				return true, nil, err
			}
			o := obj.(*unstructured.Unstructured).DeepCopy()
			o.SetDeletionTimestamp(ptr.To(metav1.Now()))
			return true, nil, fx.world.Tracker().Update(infras, o, "dev")
		}
		return false, nil, nil
	}
	for _, verb := range []string{"create", "update", "delete"} {
		fx.api.PrependReactor(verb, "*", answer)
		fx.world.PrependReactor(verb, "*", answer)
	}
	informers := externalversions.NewSharedInformerFactory(fx.api, 0)
	c, err := New(Deps{
		Client: fx.api, Informers: informers, Connections: fx, Recorder: events.NewFakeRecorder(1000),
		External: func(_ context.Context, handler cache.ResourceEventHandler) External { fx.handler = handler; return fx },
	})
	if err != nil {
		t.Fatal(err)
	}
	livecontroller.Start(t, c.Run, informers)
	return fx
}

func (fx *fixture) advance(d time.Duration) {
	livecontroller.After(d)
}

func (fx *fixture) cluster() *cluster {
	fx.t.Helper()
	c, err := fx.api.ClusterV1alpha1().Clusters("dev").Get(context.Background(), "c", metav1.GetOptions{})
	if err != nil {
		fx.t.Fatal(err)
	}
	return c
}

func (fx *fixture) expectCondition(conditionType, want string) {
	fx.t.Helper()
	got := ""
	if c := conditions.Find(fx.cluster().Status.Conditions, conditionType); c != nil {
		got = strings.TrimSpace(string(c.Status) + " " + c.Reason + " " + c.Message)
	}
	if got != want {
		fx.t.Errorf("%s is %q, want %q", conditionType, got, want)
	}
}

// updateInfrastructure updates the infrastructure; nil deletes it.
func (fx *fixture) updateInfrastructure(o *unstructured.Unstructured) {
	fx.t.Helper()
	was, err := fx.world.Tracker().Get(infras, "dev", "c")
	switch {
	case o == nil:
		err = fx.world.Tracker().Delete(infras, "dev", "c")
	case apierrors.IsNotFound(err):
		err = fx.world.Tracker().Create(infras, o, "dev")
	case err == nil:
		o.SetOwnerReferences(was.(*unstructured.Unstructured).GetOwnerReferences())
		o.SetLabels(was.(*unstructured.Unstructured).GetLabels())
		err = fx.world.Tracker().Update(infras, o, "dev")
	}
	if err != nil {
		fx.t.Fatal(err)
	}
	switch {
	case was == nil:
		fx.handler.OnAdd(o, false)
	case o == nil:
		fx.handler.OnDelete(was)
	default:
		o.SetResourceVersion("new")
		fx.handler.OnUpdate(was, o)
	}
	fx.advance(time.Second)
}

func (fx *fixture) connect(err error) {
	fx.mu.Lock()
	if fx.connected = err; err != nil {
		fx.success, fx.failures = time.Now(), 5
	}
	fx.mu.Unlock()
	fx.callback(types.NamespacedName{Namespace: "dev", Name: "c"})
	fx.advance(time.Second)
}

func (fx *fixture) writes() []string {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	out := fx.calls
	fx.calls = nil
	return out
}

func TestCluster_BecomesAvailableStepByStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := run(t, nil, theCluster())
		fx.expectCondition(clusterv1alpha1.InfrastructureReadyCondition, "False ObjectDoesNotExist InfraCluster does not exist")
		fx.expectCondition(clusterv1alpha1.ClusterControlPlaneInitializedCondition, "False NotInitialized Waiting for the API of the cluster to answer: the infrastructure is not provisioned yet")
		fx.updateInfrastructure(infra(""))
		fx.expectCondition(clusterv1alpha1.InfrastructureReadyCondition, "False NotReady InfraCluster status.initialization.provisioned is false")
		o, err := fx.world.Resource(infras).Namespace("dev").Get(context.Background(), "c", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if refs := o.GetOwnerReferences(); len(refs) != 1 || refs[0].UID != "c" || !ptr.Deref(refs[0].Controller, false) || o.GetLabels()[clusterv1alpha1.ClusterNameLabel] != "c" {
			t.Errorf("the infrastructure is owned by %+v, labelled %v", refs, o.GetLabels())
		}
		fx.updateInfrastructure(infra(provisioned))
		fx.expectCondition(clusterv1alpha1.InfrastructureReadyCondition, "True Ready")
		fx.expectCondition(clusterv1alpha1.ClusterControlPlaneInitializedCondition, "False NotInitialized Waiting for the API of the cluster to answer: connection refused")
		fx.expectCondition(clusterv1alpha1.ClusterRemoteConnectionProbeCondition, "False ProbeFailed Remote connection not established yet")
		sum := conditions.Find(fx.cluster().Status.Conditions, clusterv1alpha1.AvailableCondition)
		fx.expectCondition(clusterv1alpha1.ReconcilingCondition, "True NotAvailable "+sum.Message)
		c := fx.cluster()
		want := []clusterv1alpha1.FailureDomain{{Name: "a", ControlPlane: ptr.To(true), Attributes: map[string]string{"x": "y"}}, {Name: "b"}}
		if diff := cmp.Diff(want, c.Status.FailureDomains); diff != "" {
			t.Errorf("failure domains (-want +got):\n%s", diff)
		}
		if c.Spec.ControlPlaneEndpoint != (clusterv1alpha1.APIEndpoint{Host: "10.0.0.1", Port: 6443}) || c.Status.Phase != clusterv1alpha1.ClusterPhaseProvisioned {
			t.Errorf("endpoint %+v, phase %s", c.Spec.ControlPlaneEndpoint, c.Status.Phase)
		}
		fx.connect(nil)
		fx.expectCondition(clusterv1alpha1.ClusterControlPlaneInitializedCondition, "True Initialized")
		fx.expectCondition(clusterv1alpha1.AvailableCondition, "True Available")
		if c := conditions.Find(fx.cluster().Status.Conditions, clusterv1alpha1.ReconcilingCondition); c != nil {
			t.Errorf("an available Cluster has %+v", c)
		}
		fx.writes()
		fx.advance(24 * time.Hour)
		if writes := fx.writes(); len(writes) > 0 {
			t.Errorf("writes in a day without changes: %v", writes)
		}
		fx.connect(errors.New("reset"))
		fx.expectCondition(clusterv1alpha1.ClusterRemoteConnectionProbeCondition, "True ProbeSucceeded")
		fx.advance(6 * time.Minute)
		fx.expectCondition(clusterv1alpha1.ClusterControlPlaneInitializedCondition, "True Initialized")
		if c := conditions.Find(fx.cluster().Status.Conditions, clusterv1alpha1.ClusterRemoteConnectionProbeCondition); c.Status != metav1.ConditionFalse || !strings.Contains(c.Message, "probe last succeeded at 2000-01-02T") {
			t.Errorf("RemoteConnectionProbe is %+v", c)
		}
		fx.updateInfrastructure(nil)
		fx.expectCondition(clusterv1alpha1.InfrastructureReadyCondition, "False ObjectDeleted InfraCluster has been deleted while the Cluster still exists")
		if !*fx.cluster().Status.Initialization.InfrastructureProvisioned {
			t.Error("initialization was reset")
		}
	})
}

func TestCluster_IsNotProvisionedIfItsEndpointIsRejected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := run(t, nil, theCluster())
		fx.api.PrependReactor("update", "clusters", func(action clienttesting.Action) (bool, runtime.Object, error) {
			if action.GetSubresource() == "status" {
				return false, nil, nil
			}
			return true, nil, apierrors.NewInvalid(clusterv1alpha1.Kind("Cluster"), "c", nil)
		})
		fx.updateInfrastructure(infra(`,"spec":{"controlPlaneEndpoint":{"host":"https://a","port":6443}},"status":{"initialization":{"provisioned":true}}`))
		if got := fx.cluster().Status.Phase; got != clusterv1alpha1.ClusterPhaseProvisioning {
			t.Errorf("phase %s, want Provisioning: there is no endpoint", got)
		}
		fx.expectCondition(clusterv1alpha1.InfrastructureReadyCondition, "True Ready")
	})
}

// Watches of infrastructure do not see objects without a cluster label.
func TestCluster_FindsInfrastructureThatIsCreatedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for what, watched := range map[string]bool{"Slipway's own kind, which is watched": true, "an external kind, which is polled": false} {
			fx := run(t, nil, theCluster())
			if err := fx.world.Tracker().Create(infras, infra(provisioned), "dev"); err != nil {
				t.Fatal(err)
			}
			if watched {
				if _, err := fx.api.VmV1alpha1().SlipwayClusters("dev").Create(t.Context(), &vmv1alpha1.SlipwayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "c"}}, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				fx.advance(time.Second)
			} else {
				fx.advance(controller.Poll)
			}
			if !ptr.Deref(fx.cluster().Status.Initialization.InfrastructureProvisioned, false) {
				t.Errorf("later infrastructure of %s was not found", what)
			}
		}
	})
}

func TestCluster_IsAvailableWithoutInfrastructure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := theCluster()
		c.Spec.InfrastructureRef, c.Finalizers = clusterv1alpha1.ContractVersionedObjectReference{}, nil
		fx := run(t, nil, c)
		fx.expectCondition(clusterv1alpha1.InfrastructureReadyCondition, "True Ready")
		if !slices.Contains(fx.cluster().Finalizers, clusterv1alpha1.ClusterFinalizer) {
			t.Error("the Cluster has no finalizer")
		}
		fx.connect(nil)
		fx.expectCondition(clusterv1alpha1.AvailableCondition, "True Available")
	})
}

func member(kind, name string, owner *metav1.OwnerReference, labels map[string]string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: "dev", Name: name, UID: types.UID(kind + name), Labels: labels}
	if owner != nil {
		m.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return m
}

// Members are deleted first, then the infrastructure. An object that cannot be read counts as existing.
func TestCluster_IsDeletedAfterItsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := theCluster()
		c.DeletionTimestamp = ptr.To(metav1.Now())
		ctrl := &metav1.OwnerReference{APIVersion: "cluster.slipway.dev/v1alpha1", Kind: "X", Name: "x", UID: "x", Controller: ptr.To(true)}
		md := &clusterv1alpha1.MachineDeployment{ObjectMeta: member("md", "md", nil, nil)}
		ms := &clusterv1alpha1.MachineSet{ObjectMeta: member("ms", "ms", ctrl, nil)}
		lone := &clusterv1alpha1.Machine{ObjectMeta: member("m", "lone", nil, map[string]string{clusterv1alpha1.MachineControlPlaneLabel: ""})}
		other := &clusterv1alpha1.Machine{ObjectMeta: member("m", "other", nil, nil)}
		md.Spec.ClusterName, ms.Spec.ClusterName, lone.Spec.ClusterName, other.Spec.ClusterName = "c", "c", "c", "d"
		fx := run(t, []runtime.Object{infra(provisioned)}, c, md, ms, lone, other)
		fx.expectCondition(clusterv1alpha1.DeletingCondition, "True WaitingForWorkersDeletion MachineSets: ms")
		fx.mu.Lock()
		fx.unread = fmt.Errorf("%w: for a while", contract.ErrUnreadable)
		fx.mu.Unlock()
		if err := fx.api.Tracker().Delete(clusterv1alpha1.SchemeGroupVersion.WithResource("machinesets"), "dev", "ms"); err != nil {
			t.Fatal(err)
		}
		fx.advance(time.Minute)
		fx.expectCondition(clusterv1alpha1.DeletingCondition, "True InternalError reading InfraCluster c: could not be read: for a while")
		fx.mu.Lock()
		fx.unread = nil
		fx.mu.Unlock()
		fx.advance(10 * time.Minute)
		fx.expectCondition(clusterv1alpha1.DeletingCondition, "True WaitingForInfrastructureDeletion Waiting for InfraCluster to be deleted")
		if diff := cmp.Diff([]string{"delete infraclusters", "delete machinedeployments", "delete machines"}, deletes(fx.writes())); diff != "" {
			t.Errorf("deletes (-want +got):\n%s", diff)
		}
		fx.updateInfrastructure(nil)
		if _, err := fx.api.ClusterV1alpha1().Clusters("dev").Get(context.Background(), "c", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the Cluster still exists: %v", err)
		}
		if _, err := fx.api.ClusterV1alpha1().Machines("dev").Get(context.Background(), "other", metav1.GetOptions{}); err != nil {
			t.Errorf("the Machine of another Cluster: %v", err)
		}
	})
}

func deletes(writes []string) []string {
	var out []string
	for _, w := range writes {
		if strings.HasPrefix(w, "delete ") {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestCluster_IsNotReconciledWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := theCluster()
		c.Spec.Paused, c.DeletionTimestamp = ptr.To(true), ptr.To(metav1.Now())
		fx := run(t, []runtime.Object{infra(provisioned)}, c)
		fx.expectCondition(clusterv1alpha1.PausedCondition, "True Paused Cluster spec.paused is set to true")
		fx.expectCondition(clusterv1alpha1.DeletingCondition, "True Paused The deletion is paused: Cluster spec.paused is set to true")
		if diff := cmp.Diff([]string{"update clusters/status"}, fx.writes()); diff != "" {
			t.Errorf("writes (-want +got):\n%s", diff)
		}
	})
}
