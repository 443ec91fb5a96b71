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

// world is an API with its caches, and the vCenters in use.
type world struct {
	*reconciler
	t       *testing.T
	api     *fake.Clientset
	objects cache.Indexer
	uses    *uses
	clock   time.Time
}

// uses records the used vCenters and returns the results that a test sets.
type uses struct {
	controller.Undivided
	used      []string
	wrong     error
	holds     string
	unknown   error
	seen      Observation
	described bool
	// elsewhere is true while another replica manages the vCenter.
	elsewhere bool
	left      []string
	observed  int
}

func (u *uses) Bind(ctx context.Context, _ string) (context.Context, error) {
	if u.elsewhere {
		return nil, errors.New("it is another process's")
	}
	return ctx, nil
}

func (u *uses) Leave(_ context.Context, name string) error {
	u.left = append(u.left, name)
	return nil
}

func (u *uses) Use(_ context.Context, name string, obj *vmv1alpha1.VCenter) error {
	if u.wrong != nil {
		return u.wrong
	}
	as := "flags or none"
	if obj != nil {
		as = obj.Spec.URL
	}
	if len(u.used) == 0 || u.used[len(u.used)-1] != name+" "+as {
		u.used = append(u.used, name+" "+as)
	}
	return nil
}

func (u *uses) Observe(context.Context, string) Observation {
	u.observed++
	return u.seen
}

func (u *uses) Described(string) bool { return u.described }

func (u *uses) InUse(string) (string, error) { return u.holds, u.unknown }

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, api: fake.NewSimpleClientset(objects...), uses: &uses{}, clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	// The fake client sets no resource versions, which caches compare.
	version := 1
	w.api.PrependReactor("update", "vcenters", func(action clienttesting.Action) (bool, runtime.Object, error) {
		version++
		action.(clienttesting.UpdateAction).GetObject().(*vmv1alpha1.VCenter).ResourceVersion = strconv.Itoa(version)
		return false, nil, nil
	})
	informers := externalversions.NewSharedInformerFactory(w.api, 0).Vm().V1alpha1()
	w.objects = informers.VCenters().Informer().GetIndexer()
	w.reconciler = &reconciler{
		client: w.api.VmV1alpha1().VCenters(), vcenters: controller.NewStore[*vmv1alpha1.VCenter](informers.VCenters().Informer(), false),
		uses: w.uses, now: func() time.Time { return w.clock },
	}
	w.inform()
	return w
}

// inform updates the cache.
func (w *world) inform() {
	w.t.Helper()
	all, err := w.api.VmV1alpha1().VCenters().List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var items []any
	for i := range all.Items {
		items = append(items, &all.Items[i])
	}
	if err := w.objects.Replace(items, ""); err != nil {
		w.t.Fatal(err)
	}
}

// pass reconciles and returns the object in the API, or nil.
func (w *world) pass() (*vmv1alpha1.VCenter, controller.Result) {
	w.t.Helper()
	result, err := w.Reconcile(w.t.Context(), types.NamespacedName{Name: "default"})
	if err != nil {
		w.t.Fatal(err)
	}
	w.inform()
	vc, _, err := w.objects.GetByKey("default")
	if vc == nil || err != nil {
		return nil, result
	}
	return vc.(*vmv1alpha1.VCenter), result
}

// writes returns the number of writes.
func (w *world) writes() int {
	n := 0
	for _, a := range w.api.Actions() {
		if !a.Matches("list", "vcenters") {
			n++
		}
	}
	return n
}

func described(change func(*vmv1alpha1.VCenter)) *vmv1alpha1.VCenter {
	vc := &vmv1alpha1.VCenter{
		ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "uid", Generation: 3, ResourceVersion: "1"},
		Spec:       vmv1alpha1.VCenterSpec{URL: "https://vc/sdk"},
	}
	if change != nil {
		change(vc)
	}
	return vc
}

func condition(vc *vmv1alpha1.VCenter, kind string) string {
	c := conditions.Find(vc.Status.Conditions, kind)
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

func TestReconcile_UsesTheFlagsWithoutAnObject(t *testing.T) {
	w := newWorld(t)
	w.pass()
	if diff := cmp.Diff([]string{"default flags or none"}, w.uses.used); diff != "" {
		t.Errorf("used (-want +got):\n%s", diff)
	}
	if n := w.writes(); n != 0 {
		t.Errorf("%d writes, want none: no object is created from the flags", n)
	}
}

// VMs report an outage, for which there is no event.
func TestVCenterOfFlags_IsObserved(t *testing.T) {
	w := newWorld(t)
	w.uses.described = true
	for want := 1; want <= 2; want++ {
		if _, result := w.pass(); result.RequeueAfter != observeInterval || w.uses.observed != want {
			t.Errorf("observed %d times, again after %s; want %d, and %s", w.uses.observed, result.RequeueAfter, want, observeInterval)
		}
	}
	w.uses.described = false
	if _, result := w.pass(); result != (controller.Result{}) || w.uses.observed != 2 {
		t.Errorf("without flags: observed %d times, result %+v", w.uses.observed, result)
	}
}

func TestReconcile_UsesAVCenterAndWritesItsState(t *testing.T) {
	w := newWorld(t, described(nil))
	w.uses.seen = Observation{Status: vmv1alpha1.VCenterStatus{Version: "8.0.3", InstanceUUID: "one"}, Ready: errors.New("not read yet")}
	vc, result := w.pass()
	if !slices.Contains(vc.Finalizers, vmv1alpha1.VCenterFinalizer) || vc.Status.Version != "8.0.3" || vc.Status.InstanceUUID != "one" || vc.Status.ObservedGeneration != 3 {
		t.Errorf("the object is %+v", vc)
	}
	if got := condition(vc, "Connected"); got != "True Succeeded " {
		t.Errorf("Connected is %s", got)
	}
	if got := condition(vc, "Ready"); got != "False NotReady not read yet" || result.RequeueAfter != controller.MinObserveDelay {
		t.Errorf("Ready is %s, requeue after %s", got, result.RequeueAfter)
	}
	w.clock = w.clock.Add(time.Hour)
	if _, result = w.pass(); result.RequeueAfter != observeInterval {
		t.Errorf("requeue after %s when it was not ready for an hour", result.RequeueAfter)
	}
	w.uses.seen.Ready = nil
	if vc, result = w.pass(); condition(vc, "Ready") != "True Succeeded " || result.RequeueAfter != observeInterval {
		t.Errorf("Ready is %s, requeue after %s", condition(vc, "Ready"), result.RequeueAfter)
	}
	w.uses.seen.Skew = "the clock is ahead"
	if vc, _ = w.pass(); condition(vc, "Connected") != "True ClockSkew the clock is ahead" {
		t.Errorf("Connected is %s", condition(vc, "Connected"))
	}
	if c := conditions.Find(vc.Status.Conditions, "Ready"); c.ObservedGeneration != 3 || !c.LastTransitionTime.Time.Equal(w.clock) {
		t.Errorf("Ready is %+v", c)
	}
	before := w.writes()
	w.pass()
	if n := w.writes() - before; n != 0 {
		t.Errorf("%d writes of what did not change", n)
	}
	if diff := cmp.Diff([]string{"default https://vc/sdk"}, w.uses.used); diff != "" {
		t.Errorf("used (-want +got):\n%s", diff)
	}
}

func TestInstanceUUID_IsThatOfTheFirstLogin(t *testing.T) {
	w := newWorld(t, described(func(vc *vmv1alpha1.VCenter) { vc.Status.InstanceUUID = "one" }))
	other := errors.New("another one answers")
	w.uses.seen = Observation{Connected: other, Ready: other, Reason: vmv1alpha1.ReasonOtherVCenter}
	vc, _ := w.pass()
	if got := condition(vc, "Connected"); vc.Status.InstanceUUID != "one" || got != "False OtherInstallation another one answers" {
		t.Errorf("installation %q, Connected is %s", vc.Status.InstanceUUID, got)
	}
}

func TestReady_ReportsAnInvalidDescription(t *testing.T) {
	w := newWorld(t, described(nil))
	w.uses.wrong = errors.New("no certificate found")
	vc, _ := w.pass()
	if got := condition(vc, "Ready"); got != "False Invalid no certificate found" {
		t.Errorf("Ready is %s", got)
	}
}

func TestDeletion_WaitsForVMs(t *testing.T) {
	deleted := func(vc *vmv1alpha1.VCenter) {
		vc.DeletionTimestamp, vc.Finalizers = &metav1.Time{Time: time.Now()}, []string{vmv1alpha1.VCenterFinalizer}
	}
	for name, tc := range map[string]struct {
		machines, unread, described bool
		stays                       string
		used                        string
	}{
		"with machines":           {machines: true, stays: "True InUse waiting for the deletion of 1 virtual machines", used: "default https://vc/sdk"},
		"machines not read":       {unread: true, stays: "True InUse the virtual machines are not read yet", used: "default https://vc/sdk"},
		"without machines":        {used: "default flags or none"},
		"flags take its place":    {machines: true, described: true, used: "default flags or none"},
		"flags, machines unknown": {unread: true, described: true, used: "default flags or none"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, described(deleted))
			w.uses.described = tc.described
			if tc.unread {
				w.uses.unknown = errors.New("the virtual machines are not read yet")
			}
			if tc.machines {
				w.uses.holds = "1 virtual machines"
			}
			vc, _ := w.pass()
			if diff := cmp.Diff([]string{tc.used}, w.uses.used); diff != "" {
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
	for name, object := range map[string][]runtime.Object{"described": {described(nil)}, "not there": nil} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, object...)
			w.uses.elsewhere = true
			_, result := w.pass()
			if w.writes() != 0 || len(w.uses.used) != 0 || result != (controller.Result{}) {
				t.Errorf("%d writes, used %v, result %+v; want nothing", w.writes(), w.uses.used, result)
			}
			w.uses.elsewhere = false
			w.pass()
			if len(w.uses.used) != 1 {
				t.Errorf("used %v when it is this process's", w.uses.used)
			}
		})
	}
}

func TestReconcile_LeavesADeletedVCenter(t *testing.T) {
	w := newWorld(t)
	w.uses.elsewhere = true
	if _, err := w.Reconcile(t.Context(), types.NamespacedName{Name: "gone"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"gone"}, w.uses.left); diff != "" || len(w.uses.used) != 0 {
		t.Errorf("used %v; left (-want +got):\n%s", w.uses.used, diff)
	}
}
