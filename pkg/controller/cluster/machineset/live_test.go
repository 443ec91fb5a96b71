// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machineset

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/test/livecontroller"
)

const group = "provider.dev"

// fixture runs the controller against a fake server with a fake clock.
type fixture struct {
	t     *testing.T
	api   *fake.Clientset
	world *dynamicfake.FakeDynamicClient
	stop  func()
	// cached are the Machines in the cache of the controller that behind has created.
	cached cache.Indexer

	mu sync.Mutex
	// calls are the writes, as verb and resource.
	calls []string
	// fail contains the errors of the next writes of a kind. If lost is true, the write is performed.
	fail map[string]error
	lost bool
	// refused contains the writes that always fail.
	refused map[string]bool
}

func templateOf(kind, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": kind, "metadata": map[string]any{"namespace": "dev", "name": name},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"size": "small"}}},
	}}
}

// theSet returns a set with the given replicas.
func theSet(replicas int32) *set {
	s := &set{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "ms", UID: "ms", Generation: 1, Labels: map[string]string{clusterv1alpha1.ClusterNameLabel: "c"}}}
	s.Spec.ClusterName, s.Spec.Replicas = "c", &replicas
	s.Spec.Selector.MatchLabels = map[string]string{"app": "ms"}
	s.Spec.Template.Metadata = clusterv1alpha1.ObjectMeta{Labels: map[string]string{"app": "ms"}, Annotations: map[string]string{"note": "x"}}
	s.Spec.Template.Spec = clusterv1alpha1.MachineSpec{ClusterName: "c", Version: "v1.36.0"}
	s.Spec.Template.Spec.InfrastructureRef = clusterv1alpha1.ContractVersionedObjectReference{APIGroup: group, Kind: "InfraTemplate", Name: "small"}
	s.Spec.Template.Spec.Bootstrap.ConfigRef = clusterv1alpha1.ContractVersionedObjectReference{APIGroup: group, Kind: "BootTemplate", Name: "worker"}
	return s
}

// run starts the controller with objects, a Cluster and the templates. It must be called in a synctest bubble.
func run(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := serve(t, objects...)
	f.restart()
	return f
}

// serve returns a server with objects, a Cluster and the templates.
func serve(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	in := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "c", UID: "c"}}
	f := &fixture{t: t, api: fake.NewSimpleClientset(append(objects, in)...), fail: map[string]error{}, refused: map[string]bool{}}
	f.world = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		resource("InfraTemplate"): "InfraTemplateList", resource("BootTemplate"): "BootTemplateList", resource("Infra"): "InfraList", resource("Boot"): "BootList",
	}, templateOf("InfraTemplate", "small"), templateOf("BootTemplate", "worker"))
	versions := livecontroller.Versions{}
	answer := func(tracker clienttesting.ObjectTracker) clienttesting.ReactionFunc {
		return func(action clienttesting.Action) (bool, runtime.Object, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			what := livecontroller.Call(action)
			versions.Stamp(action)
			f.calls = append(f.calls, what)
			if f.refused[what] {
				return true, nil, errRefused
			}
			if err := f.fail[what]; err != nil {
				delete(f.fail, what)
				if f.lost {
					create := action.(clienttesting.CreateAction)
					if err := tracker.Create(action.GetResource(), create.GetObject(), action.GetNamespace()); err != nil {
						t.Error(err)
					}
				}
				return true, nil, err
			}
			if action.GetVerb() == "delete" && what == "delete machines" {
				return f.markDeleting(tracker, action.(clienttesting.DeleteAction), &versions)
			}
			return false, nil, nil
		}
	}
	for _, verb := range []string{"create", "update", "delete"} {
		f.api.PrependReactor(verb, "*", answer(f.api.Tracker()))
		f.world.PrependReactor(verb, "*", answer(f.world.Tracker()))
	}
	return f
}

// behind returns a controller whose caches only contain these objects.
func (f *fixture) behind(s *set, machines ...*machine) *Controller {
	f.t.Helper()
	informers := externalversions.NewSharedInformerFactory(f.api, 0)
	kinds := informers.Cluster().V1alpha1()
	c, err := New(Deps{Client: f.api, Informers: informers, External: f, Recorder: events.NewFakeRecorder(1000), CreationsPerMinute: DefaultCreationsPerMinute})
	if err != nil {
		f.t.Fatal(err)
	}
	in := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: "c", UID: "c"}}
	err = errors.Join(kinds.MachineSets().Informer().GetIndexer().Add(s), kinds.Clusters().Informer().GetIndexer().Add(in))
	f.cached = kinds.Machines().Informer().GetIndexer()
	for _, m := range machines {
		err = errors.Join(err, f.cached.Add(m))
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// markDeleting marks a Machine as being deleted, like a Machine with a finalizer.
func (f *fixture) markDeleting(tracker clienttesting.ObjectTracker, action clienttesting.DeleteAction, versions *livecontroller.Versions) (bool, runtime.Object, error) {
	obj, err := tracker.Get(action.GetResource(), action.GetNamespace(), action.GetName())
	if err != nil {
		return true, nil, err
	}
	m := obj.(*machine).DeepCopy()
	m.DeletionTimestamp, m.ResourceVersion = ptr.To(metav1.Now()), versions.Next()
	return true, nil, tracker.Update(action.GetResource(), m, action.GetNamespace())
}

func resource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: "v1", Resource: map[string]string{
		"InfraTemplate": "infratemplates", "BootTemplate": "boottemplates", "Infra": "infras", "Boot": "boots",
	}[kind]}
}

// Get implements External.
func (f *fixture) Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error) {
	kind, err := f.Resolve(ctx, ref.Group, ref.Kind)
	if err != nil {
		return nil, kind, err
	}
	o, err := f.world.Resource(kind.GVR).Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	return o, kind, err
}

// Resolve implements External.
func (f *fixture) Resolve(_ context.Context, in, kind string) (contract.Kind, error) {
	if in != group || resource(kind).Resource == "" {
		return contract.Kind{}, contract.ErrKindUnknown
	}
	gvr := resource(kind)
	return contract.Kind{GVK: gvr.GroupVersion().WithKind(kind), GVR: gvr, Client: f.world, Namespaced: true}, nil
}

// restart stops the controller and starts another one.
func (f *fixture) restart() {
	f.t.Helper()
	if f.stop != nil {
		f.stop()
	}
	informers := externalversions.NewSharedInformerFactory(f.api, 0)
	c, err := New(Deps{Client: f.api, Informers: informers, External: f, Recorder: events.NewFakeRecorder(1000), CreationsPerMinute: DefaultCreationsPerMinute})
	if err != nil {
		f.t.Fatal(err)
	}
	f.stop = livecontroller.Start(f.t, c.Run, informers)
}

// advance advances the clock.
func (f *fixture) advance(d time.Duration) {
	livecontroller.After(d)
}

// machines returns the Machines, sorted by name.
func (f *fixture) machines() []*machine {
	f.t.Helper()
	list, err := f.api.ClusterV1alpha1().Machines("dev").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	var all []*machine
	for i := range list.Items {
		all = append(all, &list.Items[i])
	}
	return all
}

func (f *fixture) names() []string {
	var names []string
	for _, m := range f.machines() {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// objects returns the names of the objects of an external kind.
func (f *fixture) objects(kind string) []string {
	f.t.Helper()
	list, err := f.world.Resource(resource(kind)).Namespace("dev").List(context.Background(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for _, o := range list.Items {
		names = append(names, o.GetName())
	}
	slices.Sort(names)
	return names
}

func (f *fixture) set() *set {
	f.t.Helper()
	s, err := f.api.ClusterV1alpha1().MachineSets("dev").Get(context.Background(), "ms", metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// edit changes the set like a user and waits for the controller.
func (f *fixture) edit(change func(*set)) {
	f.t.Helper()
	s := f.set()
	change(s)
	s.Generation++
	if _, err := f.api.ClusterV1alpha1().MachineSets("dev").Update(context.Background(), s, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
	f.advance(time.Second)
}

// status changes the status of a Machine as another client.
func (f *fixture) status(m *machine, change func(*machine)) {
	f.t.Helper()
	now, err := f.api.ClusterV1alpha1().Machines("dev").Get(context.Background(), m.Name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	change(now)
	if _, err := f.api.ClusterV1alpha1().Machines("dev").UpdateStatus(context.Background(), now, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
	synctest.Wait() // The fake watch has a small buffer.
}

// setHealthy sets the conditions of a running Machine.
func setHealthy(m *machine) {
	m.Status.NodeRef.Name = m.Name
	m.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	for _, kind := range []string{clusterv1alpha1.ReadyCondition, clusterv1alpha1.AvailableCondition, clusterv1alpha1.InfrastructureReadyCondition} {
		withCondition(kind, metav1.ConditionTrue, "Ready")(m)
	}
}

func withCondition(conditionType string, status metav1.ConditionStatus, reason string) func(*machine) {
	return func(m *machine) {
		conditions.Set(&m.Status.Conditions, time.Now(), metav1.Condition{Type: conditionType, Status: status, Reason: reason})
	}
}

// removeMachine removes a Machine that is being deleted.
func (f *fixture) removeMachine(m *machine) {
	f.t.Helper()
	gvr := clusterv1alpha1.SchemeGroupVersion.WithResource("machines")
	if err := f.api.Tracker().Delete(gvr, "dev", m.Name); err != nil {
		f.t.Fatal(err)
	}
	synctest.Wait()
}

// writes returns the writes since the last call.
func (f *fixture) writes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.calls
	f.calls = nil
	return out
}

// answer sets the error of the next write of a kind. If lost is true, the write is performed.
func (f *fixture) answer(what string, err error, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail[what], f.lost = err, lost
}

// refuse rejects all writes of a kind, or no longer rejects them.
func (f *fixture) refuse(what string, all bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused[what] = all
}

var errTimeout = apierrors.NewTimeoutError("the response was lost", 1)

var errRefused = errors.New("refused by quota")
