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

// world is an API with objects of other kinds, a workload cluster, and a controller whose
// passes the test makes.
type world struct {
	t   *testing.T
	now time.Time
	api *fake.Clientset

	informers externalversions.SharedInformerFactory

	others   *dynamicfake.FakeDynamicClient
	workload *kubefake.Clientset
	// client sends the requests to the workload cluster, if not workload itself.
	client kubernetes.Interface
	// contract is the version that the kinds keep.
	contract string
	// unread is why objects of a kind cannot be read.
	unread map[string]error
	// down is why there is no connection; probed is when the cluster has last answered.
	down error
	// busy is true while others have all places of the workload cluster.
	busy bool
	// listing is true while others have the slots for lists, reading while Nodes are being read.
	listing, reading bool
	probed           time.Time
	// drained and detached are how often these were asked for, and what they answer.
	drained, detached int
	draining          drain.Result
	detaching         drain.Result
	drainErr          error
	detachErr         error
	recorder          *events.FakeRecorder
	c                 *Controller
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{
		t: t, now: began, contract: contract.V1Beta2, unread: map[string]error{}, api: fake.NewSimpleClientset(), workload: kubefake.NewSimpleClientset(),
		others: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
			infras: "ExampleMachineList", configs: "ExampleConfigList", controls: "ExampleControlPlaneList",
		}),
		draining: drain.Result{Done: true}, detaching: drain.Result{Done: true}, recorder: events.NewFakeRecorder(1000),
	}
	w.informers = externalversions.NewSharedInformerFactory(w.api, 0)
	c, err := New(Deps{
		Client: w.api, Informers: w.informers, Kinds: contract.New(contract.Options{}),
		Workloads: w, Recorder: w.recorder, Now: func() time.Time { return w.now },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Keys.ShutDown)
	c.reconcile.external.Objects = w
	c.reconcile.deletion.Drain = func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error) {
		w.drained++
		return w.draining, w.drainErr
	}
	c.reconcile.deletion.Detach = func(context.Context, kubernetes.Interface, drain.Input) (drain.Result, error) {
		w.detached++
		return w.detaching, w.detachErr
	}
	w.c = c
	for _, o := range objects {
		w.add(o)
	}
	w.refresh()
	return w
}

// add stores an object where it belongs.
func (w *world) add(o runtime.Object) {
	w.t.Helper()
	var err error
	switch x := o.(type) {
	case *unstructured.Unstructured:
		err = w.others.Tracker().Create(kinds[x.GetKind()], x, x.GetNamespace())
	case *corev1.Node:
		err = w.workload.Tracker().Add(x)
	default:
		err = w.api.Tracker().Add(o)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// Get reads like contract.Objects.
func (w *world) Get(ctx context.Context, ref contract.Reference, namespace string) (*unstructured.Unstructured, contract.Kind, error) {
	gvr, ok := kinds[ref.Kind]
	k := contract.Kind{GVR: gvr, GVK: gvr.GroupVersion().WithKind(ref.Kind), Version: w.contract, Namespaced: true, Client: w.others}
	if err := w.unread[ref.Kind]; err != nil {
		return nil, k, err
	}
	if !ok {
		return nil, k, fmt.Errorf("%w: %s", contract.ErrKindUnknown, ref)
	}
	o, err := w.others.Resource(gvr).Namespace(namespace).Get(ctx, ref.Name, metav1.GetOptions{})
	return o, k, err
}

func (w *world) Connection(types.NamespacedName) (step.Workload, error) {
	if w.down != nil {
		return nil, w.down
	}
	return w, nil
}

func (w *world) Probe(types.NamespacedName) (time.Time, int) {
	if w.down == nil {
		return w.now, 0
	}
	return w.probed, 1
}

func (w *world) Client() kubernetes.Interface {
	if w.client != nil {
		return w.client
	}
	return w.workload
}

func (w *world) Visit(ctx context.Context) (context.Context, func(), error) {
	if w.busy {
		return nil, nil, workload.ErrBusy
	}
	visit, cancel := context.WithTimeout(ctx, workload.VisitTimeout)
	return visit, cancel, nil
}

func (w *world) ListSlot() (func(), error) {
	if w.listing {
		return nil, workload.ErrBusy
	}
	return func() {}, nil
}

func (w *world) Nodes(id, _ string) ([]*workload.Node, error) {
	if w.reading {
		return nil, &workload.NotConnectedError{Reason: workload.ErrReading}
	}
	list, err := w.workload.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
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

// refresh brings the caches to what is stored.
func (w *world) refresh() {
	w.t.Helper()
	v1, ctx := w.api.ClusterV1alpha1(), w.t.Context()
	machines, err1 := v1.Machines("").List(ctx, metav1.ListOptions{})
	clusters, err2 := v1.Clusters("").List(ctx, metav1.ListOptions{})
	sets, err3 := v1.MachineSets("").List(ctx, metav1.ListOptions{})
	deployments, err4 := v1.MachineDeployments("").List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		w.t.Fatal(err)
	}
	informers := w.informers.Cluster().V1alpha1()
	fill(w, w.c.machines.GetIndexer(), machines.Items)
	fill(w, informers.Clusters().Informer().GetIndexer(), clusters.Items)
	fill(w, informers.MachineSets().Informer().GetIndexer(), sets.Items)
	fill(w, informers.MachineDeployments().Informer().GetIndexer(), deployments.Items)
	// The fake keeps no versions, by which the store tells what is newer.
	w.c.reconcile.machines = controller.NewStore[*machine](w.c.machines, false)
	w.c.enqueuer.Objects = w.c.reconcile.machines
}

func fill[T any](w *world, indexer cache.Indexer, items []T) {
	w.t.Helper()
	var all []any
	for i := range items {
		all = append(all, &items[i])
	}
	if err := indexer.Replace(all, ""); err != nil {
		w.t.Fatal(err)
	}
}

// try makes a pass over Machine "m".
func (w *world) try() (controller.Result, error) {
	w.t.Helper()
	w.refresh()
	result, err := w.c.reconcile.Reconcile(w.t.Context(), types.NamespacedName{Namespace: ns, Name: "m"})
	w.refresh()
	return result, err
}

// pass makes one that does not fail.
func (w *world) pass() controller.Result {
	w.t.Helper()
	result, err := w.try()
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// fails makes a pass whose error has a text.
func (w *world) failing(text string) {
	w.t.Helper()
	if _, err := w.try(); err == nil || !strings.Contains(err.Error(), text) {
		w.t.Fatalf("error %v, want %q", err, text)
	}
}

func (w *world) machine() *machine {
	w.t.Helper()
	m, err := w.api.ClusterV1alpha1().Machines(ns).Get(w.t.Context(), "m", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

// edit changes the Machine as somebody else would.
func (w *world) edit(change func(*machine)) {
	w.t.Helper()
	m := w.machine()
	change(m)
	if err := w.api.Tracker().Update(clusterv1alpha1.SchemeGroupVersion.WithResource("machines"), m, ns); err != nil {
		w.t.Fatal(err)
	}
}

// other reads an object of another kind, nil if it is not there.
func (w *world) other(kind, name string) *unstructured.Unstructured {
	w.t.Helper()
	o, err := w.others.Resource(kinds[kind]).Namespace(ns).Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// set changes a field of an object of another kind.
func (w *world) set(kind, name string, value any, path ...string) {
	w.t.Helper()
	o := w.tracked(kind, name)
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		w.t.Fatal(err)
	}
	if err := w.others.Tracker().Update(kinds[kind], o, ns); err != nil {
		w.t.Fatal(err)
	}
}

// tracked reads an object past the client, which holds a lock while a reactor runs.
func (w *world) tracked(kind, name string) *unstructured.Unstructured {
	w.t.Helper()
	o, err := w.others.Tracker().Get(kinds[kind], ns, name)
	if err != nil {
		w.t.Fatal(err)
	}
	return o.(*unstructured.Unstructured).DeepCopy()
}

// remove removes an object of another kind, as the last finalizer does.
func (w *world) remove(kind, name string) {
	w.t.Helper()
	if err := w.others.Tracker().Delete(kinds[kind], ns, name); err != nil {
		w.t.Fatal(err)
	}
}

// says is a condition of the Machine, with its message.
func (w *world) says(kind string) (is, message string) {
	w.t.Helper()
	return saying(w.machine(), kind)
}

func saying(m *machine, kind string) (is, message string) {
	c := conditions.Find(m.Status.Conditions, kind)
	if c == nil {
		return "", ""
	}
	return string(c.Status) + " " + c.Reason, c.Message
}

// expect compares a condition of the Machine.
func (w *world) expect(kind, is, message string) {
	w.t.Helper()
	if got, text := w.says(kind); got != is || text != message {
		w.t.Errorf("%s is %q %q, want %q %q", kind, got, text, is, message)
	}
}

// writes are the writes of Machines since the last call.
func (w *world) writes() int {
	n := 0
	for _, a := range w.api.Actions() {
		if a.GetResource().Resource == "machines" && (a.GetVerb() == "update" || a.GetVerb() == "patch") {
			n++
		}
	}
	w.api.ClearActions()
	return n
}

// happened are the events since the last call, by their reasons.
func (w *world) happened() []string {
	var reasons []string
	for {
		select {
		case e := <-w.recorder.Events:
			reasons = append(reasons, strings.Fields(e)[1])
		default:
			return reasons
		}
	}
}
