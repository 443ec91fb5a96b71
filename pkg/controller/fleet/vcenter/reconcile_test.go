// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// fixture is an API with its caches, and the vCenters in use.
type fixture struct {
	*reconciler
	t            *testing.T
	api          *fake.Clientset
	objects      cache.Indexer
	fakeVCenters *fakeVCenters
	clock        time.Time
}

// fakeVCenters records the used vCenters and returns the results that a test sets.
type fakeVCenters struct {
	controller.Undivided
	used []string
	// connectErr is the result of Connect.
	connectErr error
	// dependents and dependentsErr are the results of Dependents.
	dependents    string
	dependentsErr error
	observation   Observation
	// inFlags is true if the flags describe the vCenter.
	inFlags bool
	// elsewhere is true while another replica manages the vCenter.
	elsewhere bool
	// disconnected are the names of the vCenters that were disconnected.
	disconnected []string
	observed     int
}

func (u *fakeVCenters) Bind(ctx context.Context, _ string) (context.Context, error) {
	if u.elsewhere {
		return nil, errors.New("another process manages it")
	}
	return ctx, nil
}

func (u *fakeVCenters) Disconnect(_ context.Context, name string) error {
	u.disconnected = append(u.disconnected, name)
	return nil
}

func (u *fakeVCenters) Connect(_ context.Context, name string, obj *vmv1alpha1.VCenter) error {
	if u.connectErr != nil {
		return u.connectErr
	}
	as := "no object"
	if obj != nil {
		as = obj.Spec.URL
	}
	if len(u.used) == 0 || u.used[len(u.used)-1] != name+" "+as {
		u.used = append(u.used, name+" "+as)
	}
	return nil
}

func (u *fakeVCenters) Observe(context.Context, string) Observation {
	u.observed++
	return u.observation
}

func (u *fakeVCenters) DescribedByFlags(string) bool { return u.inFlags }

func (u *fakeVCenters) Dependents(string) (string, error) { return u.dependents, u.dependentsErr }

func newFixture(t *testing.T, objects ...runtime.Object) *fixture {
	t.Helper()
	f := &fixture{t: t, api: fake.NewSimpleClientset(objects...), fakeVCenters: &fakeVCenters{}, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	// The fake client sets no resource versions, which caches compare.
	version := 1
	f.api.PrependReactor("update", "vcenters", func(action clienttesting.Action) (bool, runtime.Object, error) {
		version++
		action.(clienttesting.UpdateAction).GetObject().(*vmv1alpha1.VCenter).ResourceVersion = strconv.Itoa(version)
		return false, nil, nil
	})
	informers := externalversions.NewSharedInformerFactory(f.api, 0).Vm().V1alpha1()
	f.objects = informers.VCenters().Informer().GetIndexer()
	f.reconciler = &reconciler{
		client: f.api.VmV1alpha1().VCenters(), vcenters: controller.NewStore[*vmv1alpha1.VCenter](informers.VCenters().Informer(), false),
		manager: f.fakeVCenters, now: func() time.Time { return f.clock },
	}
	f.updateCache()
	return f
}

// updateCache updates the cache.
func (f *fixture) updateCache() {
	f.t.Helper()
	all, err := f.api.VmV1alpha1().VCenters().List(f.t.Context(), metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	var items []any
	for i := range all.Items {
		items = append(items, &all.Items[i])
	}
	if err := f.objects.Replace(items, ""); err != nil {
		f.t.Fatal(err)
	}
}

// reconcileOnce reconciles and returns the object in the API, or nil.
func (f *fixture) reconcileOnce() (*vmv1alpha1.VCenter, controller.Result) {
	f.t.Helper()
	result, err := f.Reconcile(f.t.Context(), types.NamespacedName{Name: "default"})
	if err != nil {
		f.t.Fatal(err)
	}
	f.updateCache()
	vc, _, err := f.objects.GetByKey("default")
	if vc == nil || err != nil {
		return nil, result
	}
	return vc.(*vmv1alpha1.VCenter), result
}

// writes returns the number of writes.
func (f *fixture) writes() int {
	n := 0
	for _, a := range f.api.Actions() {
		if !a.Matches("list", "vcenters") {
			n++
		}
	}
	return n
}

func newVCenter(change func(*vmv1alpha1.VCenter)) *vmv1alpha1.VCenter {
	vc := &vmv1alpha1.VCenter{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid", Generation: 3, ResourceVersion: "1"},
		Spec:       vmv1alpha1.VCenterSpec{URL: "https://vc/sdk"},
	}
	if change != nil {
		change(vc)
	}
	return vc
}

func condition(vc *vmv1alpha1.VCenter, conditionType string) string {
	c := conditions.Find(vc.Status.Conditions, conditionType)
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

func TestReconcile_UsesTheFlagsWithoutAnObject(t *testing.T) {
	f := newFixture(t)
	f.reconcileOnce()
	if diff := cmp.Diff([]string{"default no object"}, f.fakeVCenters.used); diff != "" {
		t.Errorf("used (-want +got):\n%s", diff)
	}
	if n := f.writes(); n != 0 {
		t.Errorf("%d writes, want none: no object is created from the flags", n)
	}
}

// An outage creates no event, but VMs must report it, so the vCenter is polled.
func TestVCenterOfFlags_IsObserved(t *testing.T) {
	f := newFixture(t)
	f.fakeVCenters.inFlags = true
	for want := 1; want <= 2; want++ {
		if _, result := f.reconcileOnce(); result.RequeueAfter != observeInterval || f.fakeVCenters.observed != want {
			t.Errorf("observed %d times, again after %s; want %d, and %s", f.fakeVCenters.observed, result.RequeueAfter, want, observeInterval)
		}
	}
	f.fakeVCenters.inFlags = false
	if _, result := f.reconcileOnce(); result != (controller.Result{}) || f.fakeVCenters.observed != 2 {
		t.Errorf("without flags: observed %d times, result %+v", f.fakeVCenters.observed, result)
	}
}

func TestReconcile_UsesAVCenterAndWritesItsState(t *testing.T) {
	f := newFixture(t, newVCenter(nil))
	f.fakeVCenters.observation = Observation{Status: vmv1alpha1.VCenterStatus{Version: "8.0.3", InstanceUUID: "one"}, Ready: errors.New("not read yet")}
	vc, result := f.reconcileOnce()
	if !slices.Contains(vc.Finalizers, vmv1alpha1.VCenterFinalizer) || vc.Status.Version != "8.0.3" || vc.Status.InstanceUUID != "one" || vc.Status.ObservedGeneration != 3 {
		t.Errorf("the object is %+v", vc)
	}
	if got := condition(vc, "Connected"); got != "True Succeeded " {
		t.Errorf("Connected is %s", got)
	}
	if got := condition(vc, "Ready"); got != "False NotReady not read yet" || result.RequeueAfter != controller.MinObserveDelay {
		t.Errorf("Ready is %s, requeue after %s", got, result.RequeueAfter)
	}
	f.clock = f.clock.Add(time.Hour)
	if _, result = f.reconcileOnce(); result.RequeueAfter != observeInterval {
		t.Errorf("requeue after %s when it was not ready for an hour", result.RequeueAfter)
	}
	f.fakeVCenters.observation.Ready = nil
	if vc, result = f.reconcileOnce(); condition(vc, "Ready") != "True Succeeded " || result.RequeueAfter != observeInterval {
		t.Errorf("Ready is %s, requeue after %s", condition(vc, "Ready"), result.RequeueAfter)
	}
	f.fakeVCenters.observation.Skew = "the clock is ahead"
	if vc, _ = f.reconcileOnce(); condition(vc, "Connected") != "True ClockSkew the clock is ahead" {
		t.Errorf("Connected is %s", condition(vc, "Connected"))
	}
	if c := conditions.Find(vc.Status.Conditions, "Ready"); c.ObservedGeneration != 3 || !c.LastTransitionTime.Time.Equal(f.clock) {
		t.Errorf("Ready is %+v", c)
	}
	before := f.writes()
	f.reconcileOnce()
	if n := f.writes() - before; n != 0 {
		t.Errorf("%d writes without changes", n)
	}
	if diff := cmp.Diff([]string{"default https://vc/sdk"}, f.fakeVCenters.used); diff != "" {
		t.Errorf("used (-want +got):\n%s", diff)
	}
}

func TestInstanceUUID_IsThatOfTheFirstLogin(t *testing.T) {
	f := newFixture(t, newVCenter(func(vc *vmv1alpha1.VCenter) { vc.Status.InstanceUUID = "one" }))
	other := errors.New("another vCenter responds")
	f.fakeVCenters.observation = Observation{Connected: other, Ready: other, Reason: vmv1alpha1.ReasonOtherVCenter}
	vc, _ := f.reconcileOnce()
	if got := condition(vc, "Connected"); vc.Status.InstanceUUID != "one" || got != "False OtherInstallation another vCenter responds" {
		t.Errorf("instance UUID %q, Connected is %s", vc.Status.InstanceUUID, got)
	}
}

func TestReady_ReportsAnInvalidSpec(t *testing.T) {
	f := newFixture(t, newVCenter(nil))
	f.fakeVCenters.connectErr = errors.New("no certificate found")
	vc, _ := f.reconcileOnce()
	if got := condition(vc, "Ready"); got != "False Invalid no certificate found" {
		t.Errorf("Ready is %s", got)
	}
}

func TestDeletion_WaitsForVMs(t *testing.T) {
	deleted := func(vc *vmv1alpha1.VCenter) {
		vc.DeletionTimestamp, vc.Finalizers = &metav1.Time{Time: time.Now()}, []string{vmv1alpha1.VCenterFinalizer}
	}
	for name, tc := range map[string]struct {
		machines, unread, inFlags bool
		stays                     string
		used                      string
	}{
		"with machines":           {machines: true, stays: "True InUse waiting for the deletion of 1 virtual machines", used: "default https://vc/sdk"},
		"machines not read":       {unread: true, stays: "True InUse the virtual machines are not read yet", used: "default https://vc/sdk"},
		"without machines":        {used: "default no object"},
		"replaced by flags":       {machines: true, inFlags: true, used: "default no object"},
		"flags, machines unknown": {unread: true, inFlags: true, used: "default no object"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, newVCenter(deleted))
			f.fakeVCenters.inFlags = tc.inFlags
			if tc.unread {
				f.fakeVCenters.dependentsErr = errors.New("the virtual machines are not read yet")
			}
			if tc.machines {
				f.fakeVCenters.dependents = "1 virtual machines"
			}
			vc, _ := f.reconcileOnce()
			if diff := cmp.Diff([]string{tc.used}, f.fakeVCenters.used); diff != "" {
				t.Errorf("used (-want +got):\n%s", diff)
			}
			if tc.stays == "" && vc != nil && len(vc.Finalizers) > 0 {
				t.Errorf("it keeps %v", vc.Finalizers)
			}
			if tc.stays != "" && condition(vc, "Deleting") != tc.stays {
				t.Errorf("Deleting is %s, want %s", condition(vc, "Deleting"), tc.stays)
			}
		})
	}
}

func TestReconcile_IgnoresAVCenterOfAnotherReplica(t *testing.T) {
	for name, object := range map[string][]runtime.Object{"with an object": {newVCenter(nil)}, "without an object": nil} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, object...)
			f.fakeVCenters.elsewhere = true
			_, result := f.reconcileOnce()
			if f.writes() != 0 || len(f.fakeVCenters.used) != 0 || result != (controller.Result{}) {
				t.Errorf("%d writes, used %v, result %+v; want nothing", f.writes(), f.fakeVCenters.used, result)
			}
			f.fakeVCenters.elsewhere = false
			f.reconcileOnce()
			if len(f.fakeVCenters.used) != 1 {
				t.Errorf("used %v when it is this process's", f.fakeVCenters.used)
			}
		})
	}
}

func TestReconcile_DisconnectsFromADeletedVCenter(t *testing.T) {
	f := newFixture(t)
	f.fakeVCenters.elsewhere = true
	if _, err := f.Reconcile(t.Context(), types.NamespacedName{Name: "gone"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"gone"}, f.fakeVCenters.disconnected); diff != "" || len(f.fakeVCenters.used) != 0 {
		t.Errorf("used %v; disconnected (-want +got):\n%s", f.fakeVCenters.used, diff)
	}
}
