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
	made          *provider.ObservedSnapshot
	err           error
	removed       error
	snapshotCalls []*provider.Snapshot
	removes       int
}

func (s *snapshotter) Snapshot(_ context.Context, of *provider.Snapshot) (*provider.ObservedSnapshot, error) {
	s.snapshotCalls = append(s.snapshotCalls, of)
	return s.made, s.err
}

func (s *snapshotter) RemoveSnapshot(context.Context, *provider.Snapshot) error {
	s.removes++
	return s.removed
}

func (s *snapshotter) ForgetSnapshot(types.NamespacedName) {}

func (s *snapshotter) Watch(ctx context.Context, _ func(provider.Event)) { <-ctx.Done() }

// fixture is an API, a vSphere and a controller. The tests call Reconcile.
type fixture struct {
	t   *testing.T
	api *fake.Clientset
	c   *Controller
	p   *snapshotter

	informers externalversions.SharedInformerFactory
}

var began = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, api: fake.NewSimpleClientset(objects...), p: &snapshotter{err: provider.ErrReconcileInProgress}}
	f.informers = externalversions.NewSharedInformerFactory(f.api, 0)
	c, err := New(Deps{
		Client: f.api, Informers: f.informers, Provider: f.p, Shard: controller.Undivided{}, VCenterOf: func(*vmv1alpha1.VirtualMachine) string { return "" },
		Recorder: events.NewFakeRecorder(100), Now: func() time.Time { return began },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Keys.ShutDown)
	f.c = c
	f.refresh()
	return f
}

// refresh fills the caches with the stored objects.
func (f *fixture) refresh() {
	f.t.Helper()
	vm := f.api.VmV1alpha1()
	snapshots, err1 := vm.VirtualMachineSnapshots("").List(f.t.Context(), metav1.ListOptions{})
	machines, err2 := vm.VirtualMachines("").List(f.t.Context(), metav1.ListOptions{})
	if err := errors.Join(err1, err2); err != nil {
		f.t.Fatal(err)
	}
	fill(f, f.c.snapshots.GetIndexer(), snapshots.Items)
	fill(f, f.informers.Vm().V1alpha1().VirtualMachines().Informer().GetIndexer(), machines.Items)
	// The fake client sets no resource versions, which the store compares.
	f.c.reconcile.snapshots = controller.NewStore[*snapshot](f.c.snapshots, false)
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

// reconcileUntilDone reconciles a snapshot until the result has no immediate requeue.
func (f *fixture) reconcileUntilDone(name string) controller.Result {
	f.t.Helper()
	for range 10 {
		result, err := f.c.reconcile.Reconcile(f.t.Context(), types.NamespacedName{Namespace: "ns", Name: name})
		if err != nil {
			f.t.Fatal(err)
		}
		f.refresh()
		if !result.Requeue {
			return result
		}
	}
	f.t.Fatal("every reconcile requests an immediate requeue")
	return controller.Result{}
}

func (f *fixture) get(name string) *snapshot {
	f.t.Helper()
	s, err := f.api.VmV1alpha1().VirtualMachineSnapshots("ns").Get(f.t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// says returns "Created, Ready" of a snapshot, each with its reason.
func (f *fixture) conditionTexts(name string) string {
	f.t.Helper()
	var all []string
	for _, kind := range []string{vmv1alpha1.ConditionCreated, vmv1alpha1.ConditionReady} {
		if c := conditions.Find(f.get(name).Status.Conditions, kind); c != nil {
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
	f := newFixture(t, machine(), revision(), of("now", 0))
	f.reconcileUntilDone("now")
	s := f.get("now")
	if len(s.Finalizers) != 1 || len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != "uid-web" {
		t.Errorf("finalizers %v, owners %v", s.Finalizers, s.OwnerReferences)
	}
	if s.Status.InstancetypeRevision != "small-1" || f.conditionTexts("now") != "False/Creating, False/Creating" || s.Status.ObservedGeneration != 1 {
		t.Errorf("revision %q, generation %d, %s", s.Status.InstancetypeRevision, s.Status.ObservedGeneration, f.conditionTexts("now"))
	}
	if len(f.p.snapshotCalls) != 1 {
		t.Fatalf("asked %d times, want once, after status names the revision", len(f.p.snapshotCalls))
	}
	r, err := vmrecord.Decode(f.p.snapshotCalls[0].Record)
	if err != nil {
		t.Fatal(err)
	}
	if r.Spec.Instancetype.ControllerRevisionRef == nil || r.Spec.Instancetype.ControllerRevisionRef.Name != "small-1" || len(r.Revisions) != 1 || r.Labels["app"] != "web" {
		t.Errorf("the record has %+v, want the revision pinned and with it", r)
	}
	f.p.made, f.p.err = &provider.ObservedSnapshot{VirtualMachineSnapshotNode: vmv1alpha1.VirtualMachineSnapshotNode{
		UniqueID: "snapshot-1", PowerState: vmv1alpha1.PoweredOff, Occupied: resource.NewQuantity(7, resource.BinarySI),
	}, Children: []string{"snapshot-2"}}, nil
	f.reconcileUntilDone("now")
	if s := f.get("now"); f.conditionTexts("now") != "True/Succeeded, True/Succeeded" || s.Status.UniqueID != "snapshot-1" || s.Status.Occupied.Value() != 7 || len(s.Status.Children) != 1 {
		t.Errorf("%s, status %+v", f.conditionTexts("now"), s.Status)
	}
	f.api.ClearActions()
	f.reconcileUntilDone("now")
	for _, a := range f.api.Actions() {
		if a.GetVerb() != "list" {
			t.Errorf("a reconcile of a ready snapshot made the call %s %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
	for err, want := range map[error]string{
		provider.ErrUnknownState: "True/Succeeded, True/Succeeded", provider.ErrSourceBusy: "True/Succeeded, True/Succeeded",
		provider.ErrSnapshotMissing: "True/Succeeded, False/Missing", provider.ErrPaused: "True/Succeeded, False/Paused",
	} {
		f.p.made, f.p.err = nil, err
		f.reconcileUntilDone("now")
		if got := f.conditionTexts("now"); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
		f.p.made, f.p.err = &provider.ObservedSnapshot{VirtualMachineSnapshotNode: vmv1alpha1.VirtualMachineSnapshotNode{UniqueID: "snapshot-1"}}, nil
		f.reconcileUntilDone("now")
	}
}

func TestSnapshots_AreTakenOneAtATimeOldestFirst(t *testing.T) {
	reason := func(reason string) func(*snapshot) {
		return func(s *snapshot) {
			s.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionFalse, Reason: reason}}
		}
	}
	for name, tc := range map[string]struct {
		beside        *snapshot
		snapshotCalls int
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
			f := newFixture(t, machine(), revision(), of("now", time.Minute), tc.beside)
			f.reconcileUntilDone("now")
			if len(f.p.snapshotCalls) != tc.snapshotCalls {
				t.Errorf("asked %d times, want %d; %s", len(f.p.snapshotCalls), tc.snapshotCalls, f.conditionTexts("now"))
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
		"no free slot":         {machine(), provider.ErrTooManyOperations, "False/TooManyOperations, False/TooManyOperations"},
		"independent disks":    {machine(), &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonInvalid, Message: "independent"}, "False/Invalid, False/Invalid"},
		"an unknown vCenter":   {machine(), provider.ErrNotInUse, "False/UnknownState, False/UnknownState"},
		"a failure of vSphere": {machine(), errors.Join(errors.New("no space"), &provider.RequeueError{After: time.Minute}), "False/Error, False/Error"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tc.vm, revision(), of("now", 0))
			if tc.err != nil {
				f.p.err = tc.err
			}
			f.reconcileUntilDone("now")
			if got := f.conditionTexts("now"); got != tc.want {
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
		"its owner reference was removed": {machine(), func(s *snapshot) { deleted(s); s.OwnerReferences = nil }, nil, 1, ""},
		"its VM is deleted":               {nil, deleted, errors.New("must not be asked"), 0, ""},
		"another VM has its name":         {machine(func(vm *vmv1alpha1.VirtualMachine) { vm.UID = "new" }), deleted, nil, 1, ""},
		"it has a forged owner":           {machine(), func(s *snapshot) { deleted(s); s.OwnerReferences[0].UID = "forged" }, provider.ErrReconcileInProgress, 1, "True/, False/Deleting"},
		"its virtual machine is being deleted": {machine(func(vm *vmv1alpha1.VirtualMachine) {
			vm.DeletionTimestamp = &metav1.Time{Time: began}
			vm.Finalizers = []string{"x/y"}
		}), deleted, errors.New("must not be asked"), 0, ""},
		"nothing was requested":     {machine(), func(s *snapshot) { deleted(s); s.Status.Conditions = nil }, errors.New("must not be asked"), 0, ""},
		"the vCenter is not in use": {machine(), deleted, provider.ErrNotInUse, 1, "True/, False/UnknownState"},
		"a revert is in progress":   {machine(), deleted, &provider.SnapshotRefusedError{Reason: vmv1alpha1.ReasonWaitingForPrerequisites}, 1, "True/, False/WaitingForPrerequisites"},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []runtime.Object{of("now", 0, tc.change)}
			if tc.vm != nil {
				objects = append(objects, tc.vm)
			}
			f := newFixture(t, objects...)
			f.p.removed = tc.err
			f.reconcileUntilDone("now")
			got := ""
			if s := f.get("now"); s != nil && len(s.Finalizers) > 0 {
				got = f.conditionTexts("now")
			}
			if diff := cmp.Diff([]any{tc.stays, tc.removes}, []any{got, f.p.removes}); diff != "" {
				t.Errorf("remaining finalizers, and number of removals (-want +got):\n%s", diff)
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
		f := newFixture(t, machine(), of("now", 0))
		f.api.PrependReactor("update", "virtualmachinesnapshots", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, tc.err })
		got, err := f.c.reconcile.Reconcile(t.Context(), types.NamespacedName{Namespace: "ns", Name: "now"})
		if err != nil || got != tc.want {
			t.Errorf("%s: result %+v, error %v; want %+v", name, got, err, tc.want)
		}
	}
}
