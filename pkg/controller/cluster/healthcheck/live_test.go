// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/test/livecontroller"
)

var requests = schema.GroupVersionResource{Group: "fix.dev", Version: "v1", Resource: "fixes"}

// fixture runs the controller against a fake server with a fake clock.
type fixture struct {
	t        *testing.T
	api      *fake.Clientset
	fixes    *dynamicfake.FakeDynamicClient
	callback func(types.NamespacedName)

	mu sync.Mutex
	// nodes are the Nodes of the cluster, or nil while it is not connected.
	nodes map[string]*corev1.Node
	calls []string
	// asked is the number of Node lookups.
	lookups int
	// before is called before the next write of a Machine.
	before func()
}

// Node implements Nodes.
func (fx *fixture) Node(_ types.NamespacedName, _, name string) (*corev1.Node, error) {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	fx.lookups++
	if fx.nodes == nil {
		return nil, errors.New("not connected")
	}
	return fx.nodes[name], nil
}

// HasNode implements Nodes. The provider ID is the name of the Node.
func (fx *fixture) HasNode(_ types.NamespacedName, id string) (bool, error) {
	n, err := fx.Node(types.NamespacedName{}, id, id)
	return n != nil, err
}

// IsSilent implements Nodes.
func (fx *fixture) IsSilent(types.NamespacedName) bool { return false }

// OnCluster implements Nodes.
func (fx *fixture) OnCluster(f func(types.NamespacedName)) { fx.callback = f }

// OnNode implements Nodes.
func (fx *fixture) OnNode(func(types.NamespacedName, *corev1.Node)) {}

// Get implements External.
func (fx *fixture) Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error) {
	if ref.Name != "reboot" {
		return nil, contract.Kind{}, apierrors.NewNotFound(schema.GroupResource{}, ref.Name)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "fix.dev/v1", "kind": "FixTemplate", "metadata": map[string]any{"namespace": namespace, "name": "reboot"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"how": "hard"}}},
	}}, contract.Kind{}, nil
}

// Resolve implements External.
func (fx *fixture) Resolve(context.Context, string, string) (contract.Kind, error) {
	return contract.Kind{GVK: requests.GroupVersion().WithKind("Fix"), GVR: requests, Client: fx.fixes}, nil
}

// run starts the controller with objects at minute 4. It must be called in a synctest bubble.
func run(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	time.Sleep(time.Until(at(4)))
	fx := &fixture{t: t, api: fake.NewSimpleClientset(objects...), nodes: map[string]*corev1.Node{}}
	fx.fixes = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{requests: "FixList"})
	versions := livecontroller.Versions{Last: 2000}
	fx.api.PrependReactor("update", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		fx.mu.Lock()
		what := livecontroller.Call(action)
		before := fx.before
		if what == "update machines/status" {
			fx.before = nil
		}
		fx.mu.Unlock()
		if what == "update machines/status" && before != nil {
			before()
		}
		fx.mu.Lock()
		defer fx.mu.Unlock()
		o := action.(clienttesting.UpdateAction).GetObject().(metav1.Object)
		stored, err := fx.api.Tracker().Get(action.GetResource(), action.GetNamespace(), o.GetName())
		if err != nil {
			return true, nil, err
		}
		if is := stored.(metav1.Object).GetResourceVersion(); is != o.GetResourceVersion() {
			return true, nil, apierrors.NewConflict(action.GetResource().GroupResource(), o.GetName(), errors.New("the version is "+is))
		}
		versions.Stamp(action)
		fx.calls = append(fx.calls, what)
		return false, nil, nil
	})
	informers := externalversions.NewSharedInformerFactory(fx.api, 0)
	c, err := New(Deps{Client: fx.api, Informers: informers, Nodes: fx, External: fx, Recorder: events.NewFakeRecorder(1000)})
	if err != nil {
		t.Fatal(err)
	}
	livecontroller.Start(t, c.Run, informers)
	fx.until(5)
	return fx
}

// until advances the clock to a minute.
func (fx *fixture) until(minute int) {
	time.Sleep(time.Until(at(minute)))
	synctest.Wait()
}

// updateNode updates a Node, or deletes it if n is nil, and calls the callbacks.
func (fx *fixture) updateNode(name string, n *corev1.Node) {
	fx.mu.Lock()
	if fx.nodes[name] = n; n == nil {
		delete(fx.nodes, name)
	}
	fx.mu.Unlock()
	fx.callback(types.NamespacedName{Namespace: "dev", Name: "c"})
	time.Sleep(time.Second)
	synctest.Wait()
}

func (fx *fixture) machine(name string) *machine {
	fx.t.Helper()
	m, err := fx.api.ClusterV1alpha1().Machines("dev").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		fx.t.Fatal(err)
	}
	return m
}

// conditions returns status and reason of conditions of a Machine.
func (fx *fixture) conditions(name string, kinds ...string) string {
	fx.t.Helper()
	var all []string
	for _, kind := range kinds {
		if c := conditions.Find(fx.machine(name).Status.Conditions, kind); c != nil {
			all = append(all, string(c.Status)+" "+c.Reason)
		}
	}
	return strings.Join(all, ", ")
}

func (fx *fixture) expectConditions(what, name, want string) {
	fx.t.Helper()
	got := fx.conditions(name, clusterv1alpha1.MachineHealthCheckSucceededCondition, clusterv1alpha1.MachineOwnerRemediatedCondition, clusterv1alpha1.MachineExternallyRemediatedCondition)
	if got != want {
		fx.t.Errorf("%s: conditions of %s are %q, want %q", what, name, got, want)
	}
}

func (fx *fixture) status() clusterv1alpha1.MachineHealthCheckStatus {
	fx.t.Helper()
	c, err := fx.api.ClusterV1alpha1().MachineHealthChecks("dev").Get(context.Background(), "mhc", metav1.GetOptions{})
	if err != nil {
		fx.t.Fatal(err)
	}
	return c.Status
}

func (fx *fixture) writes() []string {
	fx.mu.Lock()
	defer fx.mu.Unlock()
	out := fx.calls
	fx.calls = nil
	return out
}

// Behaviors MC15 of test/behaviours.
func TestHealthCheck_MarksMachinesAfterTheirTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := run(t, theCluster(), theCheck(), theMachine("a"), theMachine("b"), theMachine("other", func(m *machine) { m.Labels = nil }))
		fx.expectConditions("its Node is deleted", "a", "False NodeDeleted, False WaitingForRemediation")
		fx.updateNode("a", node("a", corev1.ConditionTrue, 4))
		fx.updateNode("b", node("b", corev1.ConditionTrue, 4))
		fx.expectConditions("its Node exists again", "a", "True HealthCheckSucceeded, False WaitingForRemediation")
		fx.expectConditions("not selected", "other", "")
		fx.updateNode("b", node("b", corev1.ConditionFalse, 6))
		fx.expectConditions("not Ready yet", "b", "True HealthCheckSucceeded, False WaitingForRemediation")
		fx.writes()
		fx.until(10)
		if diff := cmp.Diff([]string(nil), fx.writes()); diff != "" {
			t.Errorf("writes before a timeout (-want +got):\n%s", diff)
		}
		fx.until(12)
		fx.expectConditions("not Ready for five minutes", "b", "False UnhealthyNode, False WaitingForRemediation")
		st := fx.status()
		if *st.ExpectedMachines != 2 || *st.CurrentHealthy != 1 || *st.RemediationsAllowed != 1 || cmp.Diff([]string{"a", "b"}, st.Targets) != "" {
			t.Errorf("status is %+v", st)
		}
		fx.writes()
		fx.until(24 * 60)
		if writes := fx.writes(); len(writes) > 0 {
			t.Errorf("writes in a day without changes: %v", writes)
		}
	})
}

func TestHealthCheck_DoesNotMarkMachinesOfDisconnectedClusters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := run(t, theCluster(), theCheck(), theMachine("a", withCondition("HealthCheckSucceeded", metav1.ConditionTrue, 4)))
		fx.updateNode("a", node("a", corev1.ConditionTrue, 4))
		fx.expectConditions("well", "a", "True HealthCheckSucceeded, False WaitingForRemediation")
		fx.mu.Lock()
		fx.nodes = nil
		fx.mu.Unlock()
		fx.callback(types.NamespacedName{Namespace: "dev", Name: "c"})
		fx.until(600)
		fx.expectConditions("the cluster does not answer", "a", "True HealthCheckSucceeded, False WaitingForRemediation")
		if st := fx.status(); *st.CurrentHealthy != 0 {
			t.Errorf("%d Machines count as healthy, want none", *st.CurrentHealthy)
		}
	})
}

func TestHealthCheck_RemediatesNothingIfTooManyAreUnhealthy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := theCheck()
		c.Spec.Remediation.TriggerIf.UnhealthyInRange = "[1-1]"
		fx := run(t, theCluster(), c, theMachine("a"), theMachine("b"))
		fx.expectConditions("two", "a", "False NodeDeleted")
		fx.expectConditions("two", "b", "False NodeDeleted")
		is := conditions.Find(fx.status().Conditions, clusterv1alpha1.MachineHealthCheckRemediationAllowedCondition)
		if is.Status != metav1.ConditionFalse || is.Reason != clusterv1alpha1.TooManyUnhealthyReason {
			t.Errorf("RemediationAllowed is %+v", is)
		}
		if c := conditions.Find(fx.status().Conditions, clusterv1alpha1.StalledCondition); c == nil || c.Status != metav1.ConditionTrue || c.Message != is.Message {
			t.Errorf("Stalled is %+v, want True with the message of RemediationAllowed", c)
		}
		fx.updateNode("a", node("a", corev1.ConditionTrue, 4))
		if c := conditions.Find(fx.status().Conditions, clusterv1alpha1.StalledCondition); c != nil {
			t.Errorf("Stalled is %+v although remediation is allowed", c)
		}
		fx.expectConditions("one", "a", "True HealthCheckSucceeded")
		fx.expectConditions("one", "b", "False NodeDeleted, False WaitingForRemediation")
	})
}

func TestHealthCheck_DoesNotRepeatRequestsToOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := func(m *machine) {
			conditions.Set(&m.Status.Conditions, begin, metav1.Condition{Type: "OwnerRemediated", Status: metav1.ConditionFalse, Reason: "MachineDeleting"})
		}
		done := func(m *machine) {
			conditions.Set(&m.Status.Conditions, begin, metav1.Condition{Type: "OwnerRemediated", Status: metav1.ConditionTrue, Reason: "Done"})
		}
		deletingMachine := func(m *machine) { m.DeletionTimestamp = ptr.To(metav1.NewTime(begin)); m.Finalizers = []string{"x/y"} }
		fx := run(t, theCluster(), theCheck(), theMachine("begun", begun), theMachine("done", done), theMachine("going", deletingMachine),
			theMachine("skipped", func(m *machine) {
				m.Annotations = map[string]string{clusterv1alpha1.MachineSkipRemediationAnnotation: ""}
			}),
			theMachine("paused", func(m *machine) { m.Annotations = map[string]string{clusterv1alpha1.PausedAnnotation: ""} }))
		fx.expectConditions("the owner has begun", "begun", "False NodeDeleted, False MachineDeleting")
		fx.expectConditions("remediated once, and unhealthy again", "done", "False NodeDeleted, False WaitingForRemediation")
		fx.expectConditions("being deleted", "going", "False NodeDeleted")
		fx.expectConditions("skipped", "skipped", "")
		fx.expectConditions("paused", "paused", "")
	})
}

// Another client writes the status between the read and the write of a reconcile.
func TestHealthCheck_KeepsConcurrentStatusWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := run(t, theCluster(), theCheck(), theMachine("a", nodeless))
		fx.mu.Lock()
		fx.before = func() {
			// The fake clientset is locked here, so its tracker is used.
			gvr := clusterv1alpha1.SchemeGroupVersion.WithResource("machines")
			obj, err := fx.api.Tracker().Get(gvr, "dev", "a")
			if err != nil {
				t.Error(err)
				return
			}
			m := obj.(*machine).DeepCopy()
			m.ResourceVersion = "1000"
			conditions.Set(&m.Status.Conditions, begin, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready"})
			if err := fx.api.Tracker().Update(gvr, m, "dev"); err != nil {
				t.Error(err)
			}
		}
		fx.mu.Unlock()
		fx.until(15)
		fx.expectConditions("no Node for ten minutes", "a", "False NodeStartupTimeout, False WaitingForRemediation")
		if got := fx.conditions("a", "Ready"); got != "True Ready" {
			t.Errorf("the status of the other client is %q", got)
		}
	})
}

func TestHealthCheck_CreatesOneRemediationRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := theCheck()
		c.Spec.Remediation.TemplateRef = clusterv1alpha1.MachineHealthCheckRemediationTemplateReference{APIVersion: "fix.dev/v1", Kind: "FixTemplate", Name: "reboot"}
		fx := run(t, theCluster(), c, theMachine("a"))
		fx.expectConditions("requested", "a", "False NodeDeleted, False WaitingForRemediation")
		fix, err := fx.fixes.Resource(requests).Namespace("dev").Get(context.Background(), "a", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		how, _, _ := unstructured.NestedString(fix.Object, "spec", "how")
		if owners := fix.GetOwnerReferences(); how != "hard" || len(owners) != 1 || owners[0].Kind != "Machine" || fix.GetLabels()[clusterv1alpha1.ClusterNameLabel] != "c" {
			t.Errorf("the request is %v", fix.Object)
		}
		if got := fx.conditions("a", clusterv1alpha1.MachineOwnerRemediatedCondition); got != "" {
			t.Errorf("the owner was also requested: %s", got)
		}
		fx.updateNode("a", node("a", corev1.ConditionTrue, 4))
		fx.expectConditions("healthy again", "a", "True HealthCheckSucceeded")
		if _, err := fx.fixes.Resource(requests).Namespace("dev").Get(context.Background(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("the request still exists: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := theCheck()
		c.Spec.Remediation.TemplateRef = clusterv1alpha1.MachineHealthCheckRemediationTemplateReference{APIVersion: "fix.dev/v1", Kind: "FixTemplate", Name: "none"}
		fx := run(t, theCluster(), c, theMachine("a"))
		fx.expectConditions("no template", "a", "False NodeDeleted, False RemediationTemplateNotFound")
	})
}

func TestHealthCheck_ChecksNothingWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := theCluster()
		in.Spec.Paused = ptr.To(true)
		fx := run(t, in, theCheck(), theMachine("a"))
		fx.expectConditions("paused", "a", "")
		if is := conditions.Find(fx.status().Conditions, clusterv1alpha1.PausedCondition); is.Status != metav1.ConditionTrue {
			t.Errorf("Paused is %+v", is)
		}
	})
}
