// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// publisher returns the results that a test sets.
type publisher struct {
	made         *provider.Published
	err          error
	withdrawn    error
	publications []*provider.Publication
	withdraws    int
}

func (p *publisher) Publish(_ context.Context, pub *provider.Publication) (*provider.Published, error) {
	p.publications = append(p.publications, pub)
	return p.made, p.err
}

func (p *publisher) Withdraw(context.Context, *provider.Publication) error {
	p.withdraws++
	return p.withdrawn
}

func (p *publisher) ForgetPublication(types.NamespacedName) {}

func (p *publisher) Watch(ctx context.Context, _ func(provider.Event)) { <-ctx.Done() }

// fixture is an API, a vSphere and a controller. The tests call Reconcile.
type fixture struct {
	t      *testing.T
	api    *fake.Clientset
	c      *Controller
	p      *publisher
	events *events.FakeRecorder
	labels map[string]string
	clock  time.Time

	informers externalversions.SharedInformerFactory
}

var key = types.NamespacedName{Namespace: "team-a", Name: "now"}

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{
		t: t, api: fake.NewSimpleClientset(objects...), p: &publisher{err: provider.ErrReconcileInProgress}, events: events.NewFakeRecorder(100),
		labels: map[string]string{"images": "publish"}, clock: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
	}
	f.informers = externalversions.NewSharedInformerFactory(f.api, 0)
	c, err := New(Deps{
		Client: f.api, Informers: f.informers, Provider: f.p, Recorder: f.events,
		NamespaceLabels: func(string) map[string]string { return f.labels }, Now: func() time.Time { return f.clock },
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
	ctx, vm, informers := f.t.Context(), f.api.VmV1alpha1(), f.informers.Vm().V1alpha1()
	requests, err1 := vm.VirtualMachinePublishRequests("").List(ctx, metav1.ListOptions{})
	libraries, err2 := vm.ContentLibraries().List(ctx, metav1.ListOptions{})
	machines, err3 := vm.VirtualMachines("").List(ctx, metav1.ListOptions{})
	images, err4 := vm.ClusterVirtualMachineImages().List(ctx, metav1.ListOptions{})
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		f.t.Fatal(err)
	}
	fill(f, informers.VirtualMachinePublishRequests().Informer().GetIndexer(), requests.Items)
	fill(f, informers.ContentLibraries().Informer().GetIndexer(), libraries.Items)
	fill(f, informers.VirtualMachines().Informer().GetIndexer(), machines.Items)
	fill(f, informers.ClusterVirtualMachineImages().Informer().GetIndexer(), images.Items)
	// The fake client sets no resource versions, which the store compares.
	f.c.reconcile.requests = controller.NewStore[*request](informers.VirtualMachinePublishRequests().Informer(), false)
}

func fill[T any](f *fixture, indexer cache.Indexer, items []T) {
	var all []any
	for i := range items {
		all = append(all, &items[i])
	}
	if err := indexer.Replace(all, ""); err != nil {
		f.t.Fatal(err)
	}
}

// reconcileUntilDone reconciles the request until the result has no immediate requeue.
func (f *fixture) reconcileUntilDone() controller.Result {
	f.t.Helper()
	for range 10 {
		result, err := f.c.reconcile.Reconcile(f.t.Context(), key)
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

func (f *fixture) request() *request {
	f.t.Helper()
	r, err := f.api.VmV1alpha1().VirtualMachinePublishRequests("team-a").Get(f.t.Context(), "now", metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// says returns "status/reason" and the message of a condition.
func (f *fixture) conditionText(conditionType string) (string, string) {
	f.t.Helper()
	c := conditions.Find(f.request().Status.Conditions, conditionType)
	if c == nil {
		return "", ""
	}
	return string(c.Status) + "/" + c.Reason, c.Message
}

func (f *fixture) expectCondition(conditionType, want, message string) {
	f.t.Helper()
	if got, conditionText := f.conditionText(conditionType); got != want || !strings.Contains(conditionText, message) {
		f.t.Errorf("%s is %s %q, want %s with message %q", conditionType, got, conditionText, want, message)
	}
}

func publish(change ...func(*request)) *request {
	r := &request{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "now", UID: "request-uid", Generation: 1, Finalizers: []string{vmv1alpha1.PublishRequestFinalizer}},
		Spec: vmv1alpha1.VirtualMachinePublishRequestSpec{
			Source: vmv1alpha1.VirtualMachinePublishSource{Name: "web"},
			Target: vmv1alpha1.VirtualMachinePublishTarget{ContentLibrary: "golden", Item: "web-1", Description: "for people"},
		},
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func machine(change ...func(*vmv1alpha1.VirtualMachine)) *vmv1alpha1.VirtualMachine {
	vm := &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "web-uid"}}
	vm.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionCreated, Status: metav1.ConditionTrue}}
	for _, c := range change {
		c(vm)
	}
	return vm
}

func library(change ...func(*vmv1alpha1.ContentLibrary)) *vmv1alpha1.ContentLibrary {
	l := &vmv1alpha1.ContentLibrary{ObjectMeta: metav1.ObjectMeta{Name: "golden"}, Spec: vmv1alpha1.ContentLibrarySpec{
		Library: "Golden Images", PublishFrom: &metav1.LabelSelector{MatchLabels: map[string]string{"images": "publish"}},
	}}
	for _, c := range change {
		c(l)
	}
	return l
}

func image(version string, ready metav1.ConditionStatus) *vmv1alpha1.ClusterVirtualMachineImage {
	i := &vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "web-one", Labels: map[string]string{vmv1alpha1.LabelContentLibrary: "golden"}}}
	i.Spec.ContentLibrary = &vmv1alpha1.ContentLibraryImageSource{Library: "Golden Images", Item: "web-1"}
	i.Status.ContentVersion = version
	i.Status.Conditions = []metav1.Condition{{Type: vmv1alpha1.ConditionReady, Status: ready}}
	return i
}

func TestRequest_StartsOnlyWhenSourceAndTargetAreValid(t *testing.T) {
	deleted := metav1.NewTime(time.Now())
	for name, tc := range map[string]struct {
		objects       []runtime.Object
		labels        map[string]string
		condition     string
		want          string
		conditionText string
	}{
		"no machine":          {[]runtime.Object{library()}, map[string]string{"images": "publish"}, vmv1alpha1.ConditionSourceValid, "False/NotFound", `"web" does not exist in namespace "team-a"`},
		"another namespace's": {[]runtime.Object{library(), machine(func(vm *vmv1alpha1.VirtualMachine) { vm.Namespace = "team-b" })}, map[string]string{"images": "publish"}, vmv1alpha1.ConditionSourceValid, "False/NotFound", "does not exist"},
		"one that is deleted": {[]runtime.Object{library(), machine(func(vm *vmv1alpha1.VirtualMachine) { vm.DeletionTimestamp, vm.Finalizers = &deleted, []string{"x"} })}, map[string]string{"images": "publish"}, vmv1alpha1.ConditionSourceValid, "False/NotFound", "is being deleted"},
		"one not created":     {[]runtime.Object{library(), machine(func(vm *vmv1alpha1.VirtualMachine) { vm.Status.Conditions = nil })}, map[string]string{"images": "publish"}, vmv1alpha1.ConditionSourceValid, "False/NotReady", "is not created"},
		"no library":          {[]runtime.Object{machine()}, map[string]string{"images": "publish"}, vmv1alpha1.ConditionTargetValid, "False/NotFound", `"golden" does not exist`},
		"no publishFrom":      {[]runtime.Object{machine(), library(func(l *vmv1alpha1.ContentLibrary) { l.Spec.PublishFrom = nil })}, map[string]string{"images": "publish"}, vmv1alpha1.ConditionTargetValid, "False/NotAllowed", "does not accept published VMs"},
		"another namespace":   {[]runtime.Object{machine(), library()}, map[string]string{"images": "read"}, vmv1alpha1.ConditionTargetValid, "False/NotAllowed", `does not select namespace "team-a"`},
		"unknown labels":      {[]runtime.Object{machine(), library()}, nil, vmv1alpha1.ConditionTargetValid, "Unknown/UnknownState", "labels"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, append(tc.objects, publish())...)
			f.labels = tc.labels
			f.reconcileUntilDone()
			f.expectCondition(tc.condition, tc.want, tc.conditionText)
			f.expectCondition(vmv1alpha1.ConditionComplete, "False/WaitingForPrerequisites", tc.condition)
			if r := f.request(); len(f.p.publications) > 0 || r.Status.Attempts != 0 {
				t.Errorf("the publication was started: %+v", r.Status)
			}
		})
	}
}

func TestRequest_StatusRecordsTheStartFirst(t *testing.T) {
	f := newFixture(t, publish(), machine(), library(func(l *vmv1alpha1.ContentLibrary) { l.Spec.VCenter = "west" }))
	if result, err := f.c.reconcile.Reconcile(t.Context(), key); err != nil || !result.Requeue || len(f.p.publications) != 0 {
		t.Fatalf("the first reconcile: %+v, %v, asked %v; want an immediate requeue", result, err, f.p.publications)
	}
	if r := f.request(); r.Status.Attempts != 1 || r.Status.StartTime == nil {
		t.Errorf("status %+v, want one attempt", r.Status)
	}
	f.refresh()
	f.reconcileUntilDone()
	f.expectCondition(vmv1alpha1.ConditionUploaded, "False/Publishing", "")
	if seen := f.request().Status.ObservedGeneration; seen != 1 {
		t.Errorf("observed generation %d, want 1", seen)
	}
	pub := f.p.publications[0]
	if pub.VCenter != "west" || pub.Library != "Golden Images" || pub.Item != "web-1" || pub.UID != "request-uid" || pub.VM.UID != "web-uid" || pub.Description != "for people" {
		t.Errorf("requested %+v", pub)
	}
}

func TestRequest_ReportsWhyItIsNotPublished(t *testing.T) {
	again := &provider.RequeueError{After: 7 * time.Second}
	for name, tc := range map[string]struct {
		err           error
		kind          string
		want          string
		conditionText string
		after         time.Duration
	}{
		"it runs":               {provider.ErrReconcileInProgress, vmv1alpha1.ConditionUploaded, "False/Publishing", "", 0},
		"the machine is busy":   {provider.ErrSourceBusy, vmv1alpha1.ConditionUploaded, "False/SourceBusy", "another operation", 0},
		"no free slot":          {provider.ErrTooManyOperations, vmv1alpha1.ConditionUploaded, "False/TooManyOperations", "", 0},
		"no vCenter":            {provider.ErrNotInUse, vmv1alpha1.ConditionUploaded, "Unknown/UnknownState", "", controller.Recheck},
		"nothing is read":       {provider.ErrUnknownState, vmv1alpha1.ConditionUploaded, "Unknown/UnknownState", "", controller.Recheck},
		"it failed":             {errors.Join(errors.New("no space"), again), vmv1alpha1.ConditionUploaded, "False/Error", "no space", 7 * time.Second},
		"the source is refused": {&provider.PublishRefusedError{Condition: vmv1alpha1.ConditionSourceValid, Reason: "NotReady", Message: "it runs"}, vmv1alpha1.ConditionSourceValid, "False/NotReady", "it runs", 0},
		"the name is taken":     {errors.Join(&provider.PublishRefusedError{Condition: vmv1alpha1.ConditionTargetValid, Reason: "NameTaken", Message: "taken"}, again), vmv1alpha1.ConditionTargetValid, "False/NameTaken", "taken", 7 * time.Second},
		"an unusable target":    {&provider.PublishRefusedError{Condition: vmv1alpha1.ConditionTargetValid, Reason: "Invalid", Message: "subscribed"}, vmv1alpha1.ConditionTargetValid, "False/Invalid", "subscribed", controller.Poll},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, publish(), machine(), library())
			f.p.err = tc.err
			result := f.reconcileUntilDone()
			f.expectCondition(tc.kind, tc.want, tc.conditionText)
			sum := vmv1alpha1.ConditionReconciling
			if slices.Contains([]string{"False/Invalid", "False/NameTaken"}, tc.want) {
				sum = vmv1alpha1.ConditionStalled
			}
			for _, kind := range []string{vmv1alpha1.ConditionReconciling, vmv1alpha1.ConditionStalled} {
				if got := conditions.IsTrue(f.request().Status.Conditions, kind); got != (kind == sum) {
					t.Errorf("%s is True: %v", kind, got)
				}
			}
			if result.RequeueAfter != tc.after {
				t.Errorf("requeue after %s, want %s", result.RequeueAfter, tc.after)
			}
			f.clock = f.clock.Add(time.Hour)
			f.reconcileUntilDone()
			if got := conditions.Find(f.request().Status.Conditions, tc.kind).LastTransitionTime; !got.Time.Before(f.clock) {
				t.Errorf("a reconcile without changes has moved the time of %s to %s", tc.kind, got)
			}
		})
	}
}

func TestRequest_IsCompleteWhenAnImageRepresentsItsItem(t *testing.T) {
	f := newFixture(t, publish(), machine(), library())
	f.reconcileUntilDone()
	f.p.made, f.p.err = &provider.Published{ItemID: "item-1", Version: "3"}, nil
	f.reconcileUntilDone()
	f.expectCondition(vmv1alpha1.ConditionUploaded, "True/Succeeded", "")
	f.expectCondition(vmv1alpha1.ConditionImageAvailable, "False/NotFound", `no image of item "web-1"`)
	for _, step := range []struct {
		image *vmv1alpha1.ClusterVirtualMachineImage
		want  string
	}{
		{image("2", metav1.ConditionTrue), "False/NotReady"},
		{image("3", metav1.ConditionFalse), "False/NotReady"},
		{image("4", metav1.ConditionTrue), "True/Succeeded"},
	} {
		_ = f.api.Tracker().Delete(vmv1alpha1.SchemeGroupVersion.WithResource("clustervirtualmachineimages"), "", "web-one")
		if err := f.api.Tracker().Add(step.image); err != nil {
			t.Fatal(err)
		}
		f.refresh()
		f.reconcileUntilDone()
		f.expectCondition(vmv1alpha1.ConditionImageAvailable, step.want, "")
	}
	f.expectCondition(vmv1alpha1.ConditionComplete, "True/Succeeded", "")
	if c := conditions.Find(f.request().Status.Conditions, vmv1alpha1.ConditionReconciling); c != nil {
		t.Errorf("a complete request has %+v", c)
	}
	r := f.request()
	if s := r.Status; s.ImageName != "web-one" || s.ImageKind != "ClusterVirtualMachineImage" || s.ItemID != "item-1" || s.ContentVersion != "3" || s.CompletionTime == nil {
		t.Errorf("status %+v", s)
	}
	if n := len(f.p.publications); n != 2 {
		t.Errorf("asked %d times, want twice", n)
	}
	f.reconcileUntilDone()
	if n := len(f.p.publications); n != 2 {
		t.Error("a complete request was published again")
	}
}

func TestRequest_DeletionWaitsForItsOperation(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC))
	deleting := func(change func(*request)) *request {
		return publish(func(r *request) { r.DeletionTimestamp = &deleted; change(r) })
	}
	finalizers := func(f *fixture) int {
		r, err := f.api.VmV1alpha1().VirtualMachinePublishRequests("team-a").Get(t.Context(), "now", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return 0
		}
		return len(r.Finalizers)
	}
	f := newFixture(t, deleting(func(*request) {}))
	f.reconcileUntilDone()
	if f.p.withdraws != 0 || finalizers(f) != 0 {
		t.Errorf("one that was never begun: %d withdraws, %d finalizers; want none", f.p.withdraws, finalizers(f))
	}
	f = newFixture(t, deleting(func(r *request) { r.Status.Attempts, r.Status.ItemID = 1, "item-1" }))
	f.reconcileUntilDone()
	if f.p.withdraws != 0 || finalizers(f) != 0 {
		t.Errorf("one whose item is there: %d withdraws, %d finalizers; want none", f.p.withdraws, finalizers(f))
	}
	f = newFixture(t, machine(), library(), deleting(func(r *request) { r.Status.Attempts = 1 }))
	for _, step := range []struct {
		err   error
		after time.Duration
	}{{provider.ErrReconcileInProgress, 0}, {provider.ErrNotInUse, controller.Recheck}, {errors.Join(errors.New("no"), &provider.RequeueError{After: 9 * time.Second}), 9 * time.Second}} {
		f.p.withdrawn = step.err
		if result := f.reconcileUntilDone(); result.RequeueAfter != step.after || finalizers(f) != 1 {
			t.Errorf("%v: result %+v, %d finalizers; want a requeue after %s", step.err, result, finalizers(f), step.after)
		}
	}
	f.p.withdrawn = nil
	f.reconcileUntilDone()
	if finalizers(f) != 0 {
		t.Error("the request still exists although nothing is left")
	}
}

func TestEvents_ReportStartEndAndFailures(t *testing.T) {
	f := newFixture(t, publish(), machine(), library(), image("1", metav1.ConditionTrue))
	f.p.err = errors.Join(errors.New("no space"), &provider.RequeueError{After: time.Second})
	f.reconcileUntilDone()
	f.reconcileUntilDone()
	f.p.made, f.p.err = &provider.Published{ItemID: "item-1", Version: "1"}, nil
	f.reconcileUntilDone()
	var got []string
	for len(f.events.Events) > 0 {
		got = append(got, strings.Join(strings.Fields(<-f.events.Events)[:2], " "))
	}
	if want := "Normal Publishing,Warning PublishFailed,Normal Published,Normal Complete"; strings.Join(got, ",") != want {
		t.Errorf("events %v, want %s", got, want)
	}
}
