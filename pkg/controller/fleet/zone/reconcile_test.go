// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package zone

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

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
	"github.com/slipway-dev/slipway/pkg/provider"
)

// world is an API with a zone and its observed state.
type world struct {
	controller.Undivided
	*reconciler
	t       *testing.T
	api     *fake.Clientset
	objects cache.Indexer
	clock   time.Time

	state    provider.ZoneState
	unseen   error
	machines int
	unread   error
	others   bool
}

func (w *world) Bind(ctx context.Context, _ string) (context.Context, error) {
	if w.others {
		return nil, errors.New("another process takes care of it")
	}
	return ctx, nil
}

func (w *world) State(context.Context, *vmv1alpha1.Zone) (provider.ZoneState, error) {
	return w.state, w.unseen
}

func (w *world) Machines(string) (int, error) { return w.machines, w.unread }

func newWorld(t *testing.T, change func(*vmv1alpha1.Zone)) *world {
	t.Helper()
	z := &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid", Generation: 2, ResourceVersion: "1"}}
	if change != nil {
		change(z)
	}
	w := &world{t: t, api: fake.NewSimpleClientset(z), clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	// The fake client sets no resource versions, which caches compare.
	version := 1
	w.api.PrependReactor("update", "zones", func(action clienttesting.Action) (bool, runtime.Object, error) {
		version++
		action.(clienttesting.UpdateAction).GetObject().(*vmv1alpha1.Zone).ResourceVersion = strconv.Itoa(version)
		return false, nil, nil
	})
	informer := externalversions.NewSharedInformerFactory(w.api, 0).Vm().V1alpha1().Zones().Informer()
	w.objects = informer.GetIndexer()
	w.reconciler = &reconciler{
		client: w.api.VmV1alpha1().Zones(), zones: controller.NewStore[*vmv1alpha1.Zone](informer, false), observer: w, now: func() time.Time { return w.clock },
	}
	w.state = provider.ZoneState{
		Read: true, Hosts: 3, Capacity: provider.Resources{CPU: 100e9, Memory: 1000 << 30, Storage: 1000 << 40},
		Free: provider.Resources{CPU: 50e9, Memory: 500 << 30, Storage: 500 << 40},
	}
	w.inform()
	return w
}

func (w *world) inform() *vmv1alpha1.Zone {
	w.t.Helper()
	z, err := w.api.VmV1alpha1().Zones().Get(w.t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.objects.Replace([]any{z}, ""); err != nil {
		w.t.Fatal(err)
	}
	return z
}

// pass reconciles and returns the zone.
func (w *world) pass() (*vmv1alpha1.Zone, controller.Result) {
	w.t.Helper()
	result, err := w.Reconcile(w.t.Context(), types.NamespacedName{Name: "a"})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.inform(), result
}

func (w *world) writes() (n int) {
	for _, a := range w.api.Actions() {
		if a.GetVerb() == "update" {
			n++
		}
	}
	return n
}

func says(z *vmv1alpha1.Zone, kind string) string {
	c := conditions.Find(z.Status.Conditions, kind)
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

func TestStatus_HasTheObservedState(t *testing.T) {
	w := newWorld(t, nil)
	w.machines = 7
	z, result := w.pass()
	st := z.Status
	if !slices.Contains(z.Finalizers, vmv1alpha1.ZoneFinalizer) || st.Hosts != 3 || st.VirtualMachines != 7 ||
		st.Capacity.Memory.String() != "1000Gi" || st.Free.Storage.String() != "500Ti" || st.Free.CPU.String() != "50G" {
		t.Errorf("the zone is %+v with status %+v", z.ObjectMeta, st)
	}
	if got := says(z, "Ready"); got != "True Succeeded " || result.RequeueAfter != controller.Poll || st.ObservedGeneration != 2 {
		t.Errorf("Ready is %s of generation %d, requeue after %s", got, st.ObservedGeneration, result.RequeueAfter)
	}
	before := w.writes()
	w.pass()
	w.state.Free.Memory -= 19 << 30 // less than 2 % of the capacity
	w.pass()
	if n := w.writes() - before; n != 0 {
		t.Errorf("%d writes for an insignificant difference", n)
	}
	w.state.Free.Memory -= 2 << 30
	if z, _ = w.pass(); z.Status.Free.Memory.String() != "479Gi" {
		t.Errorf("%s are free, want the observed value", z.Status.Free.Memory)
	}
	w.state.Free.CPU = 0
	if z, _ = w.pass(); !z.Status.Free.CPU.IsZero() {
		t.Errorf("%s of CPU are free, want none: that is news", z.Status.Free.CPU)
	}
}

func TestStatus_OfAnEarlierVersionIsWrittenOnce(t *testing.T) {
	w := newWorld(t, nil)
	z, _ := w.pass()
	z = z.DeepCopy()
	z.Status.ObservedGeneration = 0
	if _, err := w.client.UpdateStatus(t.Context(), z, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.inform()
	before := w.writes()
	for range 2 {
		if z, _ = w.pass(); z.Status.ObservedGeneration != 2 || w.writes()-before != 1 {
			t.Errorf("observed generation %d, with %d writes; want 2 with one", z.Status.ObservedGeneration, w.writes()-before)
		}
	}
}

func TestReady_ReportsMissingResourcesOfAZone(t *testing.T) {
	for name, tc := range map[string]struct {
		trouble, unseen error
		want            string
	}{
		"missing":    {trouble: &provider.NotUsableError{Message: "no network", Missing: true}, want: "False NotFound no network"},
		"ambiguous":  {trouble: &provider.NotUsableError{Message: "two pools"}, want: "False Invalid two pools"},
		"not read":   {unseen: errors.New("not read yet"), want: "False NotReady not read yet"},
		"without it": {unseen: fmt.Errorf("reading: %w", &provider.UnreachableError{Err: errors.New("refused")}), want: `False Unreachable reading: ` + (&provider.UnreachableError{Err: errors.New("refused")}).Error()},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.pass()
			w.state.Trouble, w.unseen = tc.trouble, tc.unseen
			if tc.unseen != nil {
				w.state = provider.ZoneState{}
			}
			z, result := w.pass()
			if got := says(z, "Ready"); got != tc.want || result.RequeueAfter != controller.MinObserveDelay {
				t.Errorf("Ready is %s, requeue after %s", got, result.RequeueAfter)
			}
			if z.Status.Hosts != 3 || z.Status.Capacity == nil {
				t.Error("the previous observation is lost")
			}
		})
	}
}

func TestZoneDeletion_WaitsForVMs(t *testing.T) {
	deleted := func(z *vmv1alpha1.Zone) {
		z.DeletionTimestamp, z.Finalizers = &metav1.Time{Time: time.Now()}, []string{vmv1alpha1.ZoneFinalizer}
	}
	for name, tc := range map[string]struct {
		machines int
		unread   error
		want     string
	}{
		"with virtual machines": {machines: 2, want: "True InUse waiting for the deletion of 2 virtual machines in the zone"},
		"not known":             {unread: errors.New("not read yet"), want: "True InUse not read yet"},
		"empty":                 {},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, deleted)
			w.machines, w.unread = tc.machines, tc.unread
			z, _ := w.pass()
			if tc.want != "" && (says(z, "Deleting") != tc.want || len(z.Finalizers) == 0) {
				t.Errorf("Deleting is %s, finalizers %v", says(z, "Deleting"), z.Finalizers)
			}
			if tc.want == "" && len(z.Finalizers) > 0 {
				t.Errorf("it keeps %v", z.Finalizers)
			}
		})
	}
}

func TestReconcile_IgnoresAZoneOfAnotherReplica(t *testing.T) {
	w := newWorld(t, nil)
	w.others = true
	if z, _ := w.pass(); len(z.Finalizers) > 0 || w.writes() > 0 {
		t.Errorf("%d writes", w.writes())
	}
}
