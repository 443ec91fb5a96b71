// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// snapshotter returns the results that a test sets.
type snapshotter struct {
	made    *provider.ObservedSnapshot
	err     error
	removed error
	asked   []*provider.Snapshot
	removes int
}

func (s *snapshotter) Snapshot(_ context.Context, of *provider.Snapshot) (*provider.ObservedSnapshot, error) {
	s.asked = append(s.asked, of)
	return s.made, s.err
}

func (s *snapshotter) RemoveSnapshot(context.Context, *provider.Snapshot) error {
	s.removes++
	return s.removed
}

func (s *snapshotter) ForgetSnapshot(types.NamespacedName) {}

func (s *snapshotter) Watch(ctx context.Context, _ func(provider.Event)) { <-ctx.Done() }

// world is an API, a vSphere and a controller. The tests call Reconcile.
type world struct {
	t   *testing.T
	api *fake.Clientset
	c   *Controller
	p   *snapshotter

	informers externalversions.SharedInformerFactory
}

var began = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, api: fake.NewSimpleClientset(objects...), p: &snapshotter{err: provider.ErrReconcileInProgress}}
	w.informers = externalversions.NewSharedInformerFactory(w.api, 0)
	c, err := New(Deps{
		Client: w.api, Informers: w.informers, Provider: w.p, Shard: controller.Undivided{}, VCenterOf: func(*vmv1alpha1.VirtualMachine) string { return "" },
		Recorder: events.NewFakeRecorder(100), Now: func() time.Time { return began },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Keys.ShutDown)
	w.c = c
	w.refresh()
	return w
}

// refresh fills the caches with the stored objects.
func (w *world) refresh() {
	w.t.Helper()
	vm := w.api.VmV1alpha1()
	snapshots, err1 := vm.VirtualMachineSnapshots("").List(w.t.Context(), metav1.ListOptions{})
	machines, err2 := vm.VirtualMachines("").List(w.t.Context(), metav1.ListOptions{})
	if err := errors.Join(err1, err2); err != nil {
		w.t.Fatal(err)
	}
	fill(w, w.c.snapshots.GetIndexer(), snapshots.Items)
	fill(w, w.informers.Vm().V1alpha1().VirtualMachines().Informer().GetIndexer(), machines.Items)
	// The fake client sets no resource versions, which the store compares.
	w.c.reconcile.snapshots = controller.NewStore[*snapshot](w.c.snapshots, false)
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

// pass reconciles a snapshot until the result has no immediate requeue.
func (w *world) pass(name string) controller.Result {
	w.t.Helper()
	for range 10 {
		result, err := w.c.reconcile.Reconcile(w.t.Context(), types.NamespacedName{Namespace: "ns", Name: name})
		if err != nil {
			w.t.Fatal(err)
		}
		w.refresh()
		if !result.Requeue {
			return result
		}
	}
	w.t.Fatal("every reconcile requests an immediate requeue")
	return controller.Result{}
}

func (w *world) get(name string) *snapshot {
	w.t.Helper()
	s, err := w.api.VmV1alpha1().VirtualMachineSnapshots("ns").Get(w.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// says returns "Created, Ready" of a snapshot, each with its reason.
func (w *world) says(name string) string {
	w.t.Helper()
	var all []string
	for _, kind := range []string{vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionReady} {
		if c := conditions.Find(w.get(name).Status.Conditions, kind); c != nil {
			all = append(all, string(c.Status)+"/"+c.Reason)
		}
	}
	return strings.Join(all, ", ")
}

func machine(change ...func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web", UID: "uid-web", Labels: map[string]string{"app": "web"}}}
	vm.Spec.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "small"}
	vm.Status.UniqueID = "vm-7"
	vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "small", Kind: "virtualmachineclusterinstancetype", ControllerRevisionRef: &vmv1alpha1.ControllerRevisionRef{Name: "small-1"}}
	vm.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionTrue}}
	for _, f := range change {
		f(vm)
	}
	return vm
}

func revision() *itv1alpha1.ControllerRevision {
	return &itv1alpha1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "small-1"}, Data: runtime.RawExtension{Raw: []byte("{}")}}
}

func of(name string, age time.Duration, change ...func(*snapshot)) *snapshot {
	s := &snapshot{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name), Generation: 1, CreationTimestamp: metav1.NewTime(began.Add(-age))}}
	s.Spec.VMName = "web"
	for _, f := range change {
		f(s)
	}
	return s
}

func TestSnapshot_IsRequestedWithTheObjectRecord(t *testing.T) {
	w := newWorld(t, machine(), revision(), of("now", 0))
	w.pass("now")
	s := w.get("now")
	if len(s.Finalizers) != 1 || len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != "uid-web" {
		t.Errorf("finalizers %v, owners %v", s.Finalizers, s.OwnerReferences)
	}
	if s.Status.InstancetypeRevision != "small-1" || w.says("now") != "False/Creating, False/Creating" || s.Status.ObservedGeneration != 1 {
		t.Errorf("revision %q, generation %d, %s", s.Status.InstancetypeRevision, s.Status.ObservedGeneration, w.says("now"))
	}
	if len(w.p.asked) != 1 {
		t.Fatalf("called %d times, want once, after status names the revision", len(w.p.asked))
	}
	r, err := vmrecord.Decode(w.p.asked[0].Record)
	if err != nil {
		t.Fatal(err)
	}
	if r.Spec.Instancetype.ControllerRevisionRef == nil || r.Spec.Instancetype.ControllerRevisionRef.Name != "small-1" || len(r.Revisions) != 1 || r.Labels["app"] != "web" {
		t.Errorf("the record has %+v, want the revision pinned and with it", r)
	}
	w.p.made, w.p.err = &provider.ObservedSnapshot{VirtualMachineSnapshotNode: vmv1alpha1.VirtualMachineSnapshotNode{
		UniqueID: "snapshot-1", PowerState: vmv1alpha1.PoweredOff, Occupied: resource.NewQuantity(7, resource.BinarySI),
	}, Children: []string{"snapshot-2"}}, nil
	w.pass("now")
	if s := w.get("now"); w.says("now") != "True/Succeeded, True/Succeeded" || s.Status.UniqueID != "snapshot-1" || s.Status.Occupied.Value() != 7 || len(s.Status.Children) != 1 {
		t.Errorf("%s, status %+v", w.says("now"), s.Status)
	}
	w.api.ClearActions()
	w.pass("now")
	for _, a := range w.api.Actions() {
		if a.GetVerb() != "list" {
			t.Errorf("a reconcile of a ready snapshot made the call %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
	for err, want := range map[error]string{
		provider.ErrUnknownState: "True/Succeeded, True/Succeeded", provider.ErrSourceBusy: "True/Succeeded, True/Succeeded",
		provider.ErrSnapshotMissing: "True/Succeeded, False/Missing", provider.ErrPaused: "True/Succeeded, False/Paused",
	} {
		w.p.made, w.p.err = nil, err
		w.pass("now")
		if got := w.says("now"); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
		w.p.made, w.p.err = &provider.ObservedSnapshot{VirtualMachineSnapshotNode: vmv1alpha1.VirtualMachineSnapshotNode{UniqueID: "snapshot-1"}}, nil
		w.pass("now")
	}
}

func TestSnapshots_AreTakenOneAtATimeOldestFirst(t *testing.T) {
	reason := func(reason string) func(*snapshot) {
		return func(s *snapshot) {
			s.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionFalse, Reason: reason}}
		}
	}
	for name, tc := range map[string]struct {
		beside *snapshot
		asked  int
	}{
		"alone":                      {of("x", 0, func(s *snapshot) { s.Spec.VMName = "db" }), 1},
		"an older one":               {of("a", time.Hour), 0},
		"one as old, before by name": {of("a", time.Minute), 0},
		"one as old, after by name":  {of("z", time.Minute), 1},
		"a younger one":              {of("a", 0), 1},
		"an older one that is taken": {of("a", time.Hour, func(s *snapshot) {
			s.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionTrue}}
		}), 1},
		"an older one that is being taken":     {of("a", time.Hour, reason(vmv1alpha1.ReasonCreating)), 0},
		"an older one that vSphere refuses":    {of("a", time.Hour, reason(vmv1alpha1.ReasonInvalid)), 1},
		"an older one that failed":             {of("a", time.Hour, reason(vmv1alpha1.ReasonError)), 1},
		"an older one that waits for its turn": {of("a", time.Hour, reason(vmv1alpha1.ReasonTooManyOperations)), 0},
		"an older one that is deleted":         {of("a", time.Hour, func(s *snapshot) { s.DeletionTimestamp = &metav1.Time{Time: began}; s.Finalizers = []string{"x/y"} }), 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, machine(), revision(), of("now", time.Minute), tc.beside)
			w.pass("now")
			if len(w.p.asked) != tc.asked {
				t.Errorf("called %d times, want %d; %s", len(w.p.asked), tc.asked, w.says("now"))
			}
		})
	}
}

func TestSnapshot_ReportsWhatItWaitsFor(t *testing.T) {
	for name, tc := range map[string]struct {
		vm   *vmv1alpha1.VirtualMachine
		err  error
		want string
	}{
		"no virtual machine":   {machine(func(vm *vmv1alpha1.VirtualMachine) { vm.Name = "other" }), nil, "False/NotFound, False/NotFound"},
		"one not created":      {machine(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Conditions = nil }), nil, "False/WaitingForPrerequisites, False/WaitingForPrerequisites"},
		"no revision":          {machine(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.InstancetypeRef.ControllerRevisionRef.Name = "gone" }), nil, "False/WaitingForPrerequisites, False/WaitingForPrerequisites"},
		"another operation":    {machine(), provider.ErrSourceBusy, "False/SourceBusy, False/SourceBusy"},
		"no place":             {machine(), provider.ErrTooManyOperations, "False/TooManyOperations, False/TooManyOperations"},
		"independent disks":    {machine(), &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonInvalid, Message: "independent"}, "False/Invalid, False/Invalid"},
		"an unknown vCenter":   {machine(), provider.ErrNotInUse, "False/UnknownState, False/UnknownState"},
		"a failure of vSphere": {machine(), errors.Join(errors.New("no space"), &provider.RequeueError{After: time.Minute}), "False/Error, False/Error"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.vm, revision(), of("now", 0))
			if tc.err != nil {
				w.p.err = tc.err
			}
			w.pass("now")
			if got := w.says("now"); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestSnapshot_DeletionWaitsForVSphere(t *testing.T) {
	deleted := func(s *snapshot) {
		s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: began}, []string{vmv1alpha1.SnapshotFinalizer}
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "vm.slipway.dev/v1alpha1", Kind: "VirtualMachine", Name: "web", UID: "uid-web"}}
		s.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionTrue}}
	}
	for name, tc := range map[string]struct {
		vm      *vmv1alpha1.VirtualMachine
		change  func(*snapshot)
		err     error
		removes int
		stays   string
	}{
		"removed":       {machine(), deleted, nil, 1, ""},
		"being removed": {machine(), deleted, provider.ErrReconcileInProgress, 1, "True/, False/Deleting"},
		// By a client that has replaced the object by its own manifest.
		"its owner was taken from it": {machine(), func(s *snapshot) { deleted(s); s.OwnerReferences = nil }, nil, 1, ""},
		"its VM is deleted":           {nil, deleted, errors.New("must not be called"), 0, ""},
		"… and there is another":      {machine(func(vm *vmv1alpha1.VirtualMachine) { vm.UID = "new" }), deleted, nil, 1, ""},
		"it has a forged owner":       {machine(), func(s *snapshot) { deleted(s); s.OwnerReferences[0].UID = "forged" }, provider.ErrReconcileInProgress, 1, "True/, False/Deleting"},
		"its virtual machine is deleted": {machine(func(vm *vmv1alpha1.VirtualMachine) {
			vm.DeletionTimestamp = &metav1.Time{Time: began}
			vm.Finalizers = []string{"x/y"}
		}), deleted, errors.New("must not be called"), 0, ""},
		"nothing was requested":     {machine(), func(s *snapshot) { deleted(s); s.Status.Conditions = nil }, errors.New("must not be called"), 0, ""},
		"the vCenter is not in use": {machine(), deleted, provider.ErrNotInUse, 1, "True/, False/UnknownState"},
		"a revert is in progress":   {machine(), deleted, &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonWaitingForPrerequisites}, 1, "True/, False/WaitingForPrerequisites"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{of("now", 0, tc.change)}
			if tc.vm != nil {
				objects = append(objects, tc.vm)
			}
			w := newWorld(t, objects...)
			w.p.removed = tc.err
			w.pass("now")
			got := ""
			if s := w.get("now"); s != nil && len(s.Finalizers) > 0 {
				got = w.says("now")
			}
			if diff := cmp.Diff([]any{tc.stays, tc.removes}, []any{got, w.p.removes}); diff != "" {
				t.Errorf("remaining objects, and the number of calls to vSphere (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSnapshot_IsRequeuedAfterAConflict(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want controller.Result
	}{
		"another version": {apierrors.NewConflict(vmv1alpha1.Resource("virtualmachinesnapshots"), "now", nil), controller.Result{RequeueAfter: time.Second}},
		"gone":            {apierrors.NewNotFound(vmv1alpha1.Resource("virtualmachinesnapshots"), "now"), controller.Result{}},
	} {
		w := newWorld(t, machine(), of("now", 0))
		w.api.PrependReactor("update", "virtualmachinesnapshots", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
		got, err := w.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "now"})
		if err != nil || got != tc.want {
			t.Errorf("%s: result %+v, error %v; want %+v", name, got, err, tc.want)
		}
	}
}
