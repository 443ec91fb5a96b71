// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/cluster/workload"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/drain"
	"github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

const (
	ns         = "ns"
	exampleAPI = "infrastructure.example.org"
	providerID = "example://1"
)

var (
	began    = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	infras   = schema.GroupVersionResource{Group: exampleAPI, Version: "v1", Resource: "examplemachines"}
	configs  = schema.GroupVersionResource{Group: exampleAPI, Version: "v1", Resource: "exampleconfigs"}
	controls = schema.GroupVersionResource{Group: exampleAPI, Version: "v1", Resource: "examplecontrolplanes"}
	kinds    = map[string]schema.GroupVersionResource{"ExampleMachine": infras, "ExampleConfig": configs, "ExampleControlPlane": controls}
)

// fixture is an API server, a workload cluster, and a controller whose reconciles are called by the test.
type fixture struct {
	t   *testing.T
	now time.Time
	api *fake.Clientset

	informers externalversions.SharedInformerFactory

	others   *dynamicfake.FakeDynamicClient
	workload *kubefake.Clientset
	// client sends the requests to the workload cluster. If it is nil, workload is used.
	client kubernetes.Interface
	// contract is the contract version of the kinds.
	contract string
	// unread contains errors of reads by kind.
	unread map[string]error
	// down is the reason for a missing connection. probed is the time of the last successful probe.
	down error
	// busy is true if the maximum number of visits is reached.
	busy bool
	// listing is true if no list slot is free. reading is true while Nodes are being read.
	listing, reading bool
	probed           time.Time
	// drained and detached count the calls. draining and detaching are the results.
	drained, detached int
	draining          drain.Result
	detaching         drain.Result
	drainErr          error
	detachErr         error
	recorder          *events.FakeRecorder
	c                 *Controller
}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{
		t: t, now: began, contract: contract.V1Beta2, unread: map[string]error{}, api: fake.NewSimpleClientset(), workload: kubefake.NewSimpleClientset(),
		others: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			infras: "ExampleMachineList", configs: "ExampleConfigList", controls: "ExampleControlPlaneList",
		}),
		draining: drain.Result{Done: true}, detaching: drain.Result{Done: true}, recorder: events.NewFakeRecorder(1000),
	}
	f.informers = externalversions.NewSharedInformerFactory(f.api, 0)
	c, err := New(Deps{
		Client: f.api, Informers: f.informers, Kinds: contract.New(contract.Options{}),
		Workloads: f, Recorder: f.recorder, Now: func() time.Time { return f.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Keys.ShutDown)
	c.reconcile.external.Objects = f
	c.reconcile.deletion.Drain = func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error) {
		f.drained++
		return f.draining, f.drainErr
	}
	c.reconcile.deletion.Detach = func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error) {
		f.detached++
		return f.detaching, f.detachErr
	}
	f.c = c
	for _, o := range objects {
		f.add(o)
	}
	f.refresh()
	return f
}

// add adds an object to the API server of its kind.
func (f *fixture) add(o runtime.Object) {
	f.t.Helper()
	var err error
	switch x := o.(type) {
	case *unstructured.Unstructured:
		err = f.others.Tracker().Create(kinds[x.GetKind()], x, x.GetNamespace())
	case *corev1.Node:
		err = f.workload.Tracker().Add(x)
	default:
		err = f.api.Tracker().Add(o)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// Get implements external.Objects.
func (f *fixture) Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error) {
	gvr, ok := kinds[ref.Kind]
	k := contract.Kind{GVR: gvr, GVK: gvr.GroupVersion().WithKind(ref.Kind), Version: f.contract, Namespaced: true, Client: f.others}
	if err := f.unread[ref.Kind]; err != nil {
		return nil, k, err
	}
	if !ok {
		return nil, k, fmt.Errorf("%w: %s", contract.ErrKindUnknown, ref)
	}
	o, err := f.others.Resource(gvr).Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	return o, k, err
}

func (f *fixture) Connection(types.NamespacedName) (step.Workload, error) {
	if f.down != nil {
		return nil, f.down
	}
	return f, nil
}

func (f *fixture) Probe(types.NamespacedName) (time.Time, int) {
	if f.down == nil {
		return f.now, 0
	}
	return f.probed, 1
}

func (f *fixture) Client() kubernetes.Interface {
	if f.client != nil {
		return f.client
	}
	return f.workload
}

func (f *fixture) Visit(ctx context.Context) (context.Context, func(), error) {
	if f.busy {
		return nil, nil, workload.ErrBusy
	}
	visit, cancel := context.WithTimeout(ctx, workload.VisitTimeout)
	return visit, cancel, nil
}

func (f *fixture) ListSlot() (func(), error) {
	if f.listing {
		return nil, workload.ErrBusy
	}
	return func() {}, nil
}

func (f *fixture) Nodes(id, _ string) ([]*workload.Node, error) {
	if f.reading {
		return nil, &workload.NotConnectedError{Reason: workload.ErrReading}
	}
	list, err := f.workload.CoreV1().Nodes().List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var found []*workload.Node
	for _, n := range list.Items {
		if strings.EqualFold(n.Spec.ProviderID, id) {
			raw := fmt.Sprint(n.Labels, n.Annotations, n.Spec.Taints)
			n.Labels, n.Annotations, n.Spec.Taints = nil, nil, nil
			found = append(found, &workload.Node{Node: n, Sum: sha256.Sum256([]byte(raw))})
		}
	}
	return found, nil
}

// refresh updates the caches from the API server.
func (f *fixture) refresh() {
	f.t.Helper()
	v1, ctx := f.api.ClusterV1alpha1(), f.t.Context()
	machines, err1 := v1.Machines("").List(ctx, metav1.ListOptions{})
	clusters, err2 := v1.Clusters("").List(ctx, metav1.ListOptions{})
	sets, err3 := v1.MachineSets("").List(ctx, metav1.ListOptions{})
	deployments, err4 := v1.MachineDeployments("").List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		f.t.Fatal(err)
	}
	informers := f.informers.Cluster().V1alpha1()
	fill(f, f.c.machines.GetIndexer(), machines.Items)
	fill(f, informers.Clusters().Informer().GetIndexer(), clusters.Items)
	fill(f, informers.MachineSets().Informer().GetIndexer(), sets.Items)
	fill(f, informers.MachineDeployments().Informer().GetIndexer(), deployments.Items)
	// The fake server does not set resource versions, which the store compares.
	f.c.reconcile.machines = controller.NewStore[*machine](f.c.machines, false)
	f.c.enqueuer.Objects = f.c.reconcile.machines
}

func fill[T any](f *fixture, indexer cache.Indexer, items []T) {
	f.t.Helper()
	var all []any
	for i := range items {
		all = append(all, &items[i])
	}
	if err := indexer.Replace(all, ""); err != nil {
		f.t.Fatal(err)
	}
}

// tryReconcile reconciles Machine "m".
func (f *fixture) tryReconcile() (controller.Result, error) {
	f.t.Helper()
	f.refresh()
	result, err := f.c.reconcile.Reconcile(f.t.Context(), types.NamespacedName{Namespace: ns, Name: "m"})
	f.refresh()
	return result, err
}

// reconcile reconciles Machine "m" and requires success.
func (f *fixture) reconcile() controller.Result {
	f.t.Helper()
	result, err := f.tryReconcile()
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// expectError reconciles Machine "m" and requires an error with a text.
func (f *fixture) expectError(text string) {
	f.t.Helper()
	if _, err := f.tryReconcile(); err == nil || !strings.Contains(err.Error(), text) {
		f.t.Fatalf("error %v, want %q", err, text)
	}
}

func (f *fixture) machine() *machine {
	f.t.Helper()
	m, err := f.api.ClusterV1alpha1().Machines(ns).Get(f.t.Context(), "m", metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return m
}

// edit changes the Machine as another client.
func (f *fixture) edit(change func(*machine)) {
	f.t.Helper()
	m := f.machine()
	change(m)
	if err := f.api.Tracker().Update(clusterv1alpha1.SchemeGroupVersion.WithResource("machines"), m, ns); err != nil {
		f.t.Fatal(err)
	}
}

// object returns an object of another kind, or nil if it does not exist.
func (f *fixture) object(kind, name string) *unstructured.Unstructured {
	f.t.Helper()
	o, err := f.others.Resource(kinds[kind]).Namespace(ns).Get(f.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return o
}

// set sets a field of an object of another kind.
func (f *fixture) set(kind, name string, value any, path ...string) {
	f.t.Helper()
	o := f.tracked(kind, name)
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		f.t.Fatal(err)
	}
	if err := f.others.Tracker().Update(kinds[kind], o, ns); err != nil {
		f.t.Fatal(err)
	}
}

// tracked reads an object from the tracker, because the client is locked while a reactor runs.
func (f *fixture) tracked(kind, name string) *unstructured.Unstructured {
	f.t.Helper()
	o, err := f.others.Tracker().Get(kinds[kind], ns, name)
	if err != nil {
		f.t.Fatal(err)
	}
	return o.(*unstructured.Unstructured).DeepCopy()
}

// remove removes an object of another kind, like the removal of its last finalizer.
func (f *fixture) remove(kind, name string) {
	f.t.Helper()
	if err := f.others.Tracker().Delete(kinds[kind], ns, name); err != nil {
		f.t.Fatal(err)
	}
}

// condition returns a condition of the Machine with its message.
func (f *fixture) condition(conditionType string) (is, message string) {
	f.t.Helper()
	return conditionOf(f.machine(), conditionType)
}

func conditionOf(m *machine, conditionType string) (is, message string) {
	c := conditions.Find(m.Status.Conditions, conditionType)
	if c == nil {
		return "", ""
	}
	return string(c.Status) + " " + c.Reason, c.Message
}

// expect compares a condition of the Machine.
func (f *fixture) expect(conditionType, is, message string) {
	f.t.Helper()
	if got, text := f.condition(conditionType); got != is || text != message {
		f.t.Errorf("%s is %q %q, want %q %q", conditionType, got, text, is, message)
	}
}

// writes returns the number of writes of Machines since the last call.
func (f *fixture) writes() int {
	n := 0
	for _, a := range f.api.Actions() {
		if a.GetResource().Resource == "machines" && (a.GetVerb() == "update" || a.GetVerb() == "patch") {
			n++
		}
	}
	f.api.ClearActions()
	return n
}

// eventReasons returns the reasons of the events since the last call.
func (f *fixture) eventReasons() []string {
	var reasons []string
	for {
		select {
		case e := <-f.recorder.Events:
			reasons = append(reasons, strings.Fields(e)[1])
		default:
			return reasons
		}
	}
}
