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

// fixture is an API with a zone and its observed state.
type fixture struct {
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

func (f *fixture) Bind(ctx context.Context, _ string) (context.Context, error) {
	if f.others {
		return nil, errors.New("another process manages it")
	}
	return ctx, nil
}

func (f *fixture) State(context.Context, *vmv1alpha1.Zone) (provider.ZoneState, error) {
	return f.state, f.unseen
}

func (f *fixture) Machines(string) (int, error) { return f.machines, f.unread }

func newFixture(t *testing.T, change func(*vmv1alpha1.Zone)) *fixture {
	t.Helper()
	z := &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid", Generation: 2, ResourceVersion: "1"}}
	if change != nil {
		change(z)
	}
	f := &fixture{t: t, api: fake.NewSimpleClientset(z), clock: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	// The fake client sets no resource versions, which caches compare.
	version := 1
	f.api.PrependReactor("update", "zones", func(action clienttesting.Action) (bool, runtime.Object, error) {
		version++
		action.(clienttesting.UpdateAction).GetObject().(*vmv1alpha1.Zone).ResourceVersion = strconv.Itoa(version)
		return false, nil, nil
	})
	informer := externalversions.NewSharedInformerFactory(f.api, 0).Vm().V1alpha1().Zones().Informer()
	f.objects = informer.GetIndexer()
	f.reconciler = &reconciler{
		client: f.api.VmV1alpha1().Zones(), zones: controller.NewStore[*vmv1alpha1.Zone](informer, false), observer: f, now: func() time.Time { return f.clock },
	}
	f.state = provider.ZoneState{
		Read: true, Hosts: 3, Capacity: provider.Resources{CPU: 100e9, Memory: 1000 << 30, Storage: 1000 << 40},
		Free: provider.Resources{CPU: 50e9, Memory: 500 << 30, Storage: 500 << 40},
	}
	f.updateCache()
	return f
}

func (f *fixture) updateCache() *vmv1alpha1.Zone {
	f.t.Helper()
	z, err := f.api.VmV1alpha1().Zones().Get(f.t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.objects.Replace([]any{z}, ""); err != nil {
		f.t.Fatal(err)
	}
	return z
}

// reconcileOnce reconciles and returns the zone.
func (f *fixture) reconcileOnce() (*vmv1alpha1.Zone, controller.Result) {
	f.t.Helper()
	result, err := f.Reconcile(f.t.Context(), types.NamespacedName{Name: "a"})
	if err != nil {
		f.t.Fatal(err)
	}
	return f.updateCache(), result
}

func (f *fixture) writes() (n int) {
	for _, a := range f.api.Actions() {
		if a.GetVerb() == "update" {
			n++
		}
	}
	return n
}

func conditionText(z *vmv1alpha1.Zone, conditionType string) string {
	c := conditions.Find(z.Status.Conditions, conditionType)
	if c == nil {
		return "none"
	}
	return string(c.Status) + " " + c.Reason + " " + c.Message
}

func TestStatus_HasTheObservedState(t *testing.T) {
	f := newFixture(t, nil)
	f.machines = 7
	z, result := f.reconcileOnce()
	st := z.Status
	if !slices.Contains(z.Finalizers, vmv1alpha1.ZoneFinalizer) || st.Hosts != 3 || st.VirtualMachines != 7 ||
		st.Capacity.Memory.String() != "1000Gi" || st.Free.Storage.String() != "500Ti" || st.Free.CPU.String() != "50G" {
		t.Errorf("the zone is %+v with status %+v", z.ObjectMeta, st)
	}
	if got := conditionText(z, "Ready"); got != "True Succeeded " || result.RequeueAfter != controller.Poll || st.ObservedGeneration != 2 {
		t.Errorf("Ready is %s of generation %d, requeue after %s", got, st.ObservedGeneration, result.RequeueAfter)
	}
	before := f.writes()
	f.reconcileOnce()
	f.state.Free.Memory -= 19 << 30 // less than 2 % of the capacity
	f.reconcileOnce()
	if n := f.writes() - before; n != 0 {
		t.Errorf("%d writes of a small change", n)
	}
	f.state.Free.Memory -= 2 << 30
	if z, _ = f.reconcileOnce(); z.Status.Free.Memory.String() != "479Gi" {
		t.Errorf("%s are free, want the observed value", z.Status.Free.Memory)
	}
	f.state.Free.CPU = 0
	if z, _ = f.reconcileOnce(); !z.Status.Free.CPU.IsZero() {
		t.Errorf("%s of CPU are free, want none, because the change is large", z.Status.Free.CPU)
	}
}

func TestStatus_IsWrittenOnceAfterAnUpgrade(t *testing.T) {
	f := newFixture(t, nil)
	z, _ := f.reconcileOnce()
	z = z.DeepCopy()
	z.Status.ObservedGeneration = 0
	if _, err := f.client.UpdateStatus(t.Context(), z, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.updateCache()
	before := f.writes()
	for range 2 {
		if z, _ = f.reconcileOnce(); z.Status.ObservedGeneration != 2 || f.writes()-before != 1 {
			t.Errorf("observed generation %d, with %d writes; want 2 with one", z.Status.ObservedGeneration, f.writes()-before)
		}
	}
}

func TestReady_ReportsProblemsOfAZone(t *testing.T) {
	for name, tc := range map[string]struct {
		trouble, unseen error
		want            string
	}{
		"missing":     {trouble: &provider.NotUsableError{Message: "no network", Missing: true}, want: "False NotFound no network"},
		"ambiguous":   {trouble: &provider.NotUsableError{Message: "two pools"}, want: "False Invalid two pools"},
		"not read":    {unseen: errors.New("not read yet"), want: "False NotReady not read yet"},
		"unreachable": {unseen: fmt.Errorf("reading: %w", &provider.UnreachableError{Err: errors.New("refused")}), want: `False Unreachable reading: ` + (&provider.UnreachableError{Err: errors.New("refused")}).Error()},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, nil)
			f.reconcileOnce()
			f.state.Trouble, f.unseen = tc.trouble, tc.unseen
			if tc.unseen != nil {
				f.state = provider.ZoneState{}
			}
			z, result := f.reconcileOnce()
			if got := conditionText(z, "Ready"); got != tc.want || result.RequeueAfter != controller.MinObserveDelay {
				t.Errorf("Ready is %s, requeue after %s", got, result.RequeueAfter)
			}
			if z.Status.Hosts != 3 || z.Status.Capacity == nil {
				t.Error("the previous observation was removed")
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
			f := newFixture(t, deleted)
			f.machines, f.unread = tc.machines, tc.unread
			z, _ := f.reconcileOnce()
			if tc.want != "" && (conditionText(z, "Deleting") != tc.want || len(z.Finalizers) == 0) {
				t.Errorf("Deleting is %s, finalizers %v", conditionText(z, "Deleting"), z.Finalizers)
			}
			if tc.want == "" && len(z.Finalizers) > 0 {
				t.Errorf("it keeps %v", z.Finalizers)
			}
		})
	}
}

func TestReconcile_IgnoresAZoneOfAnotherReplica(t *testing.T) {
	f := newFixture(t, nil)
	f.others = true
	if z, _ := f.reconcileOnce(); len(z.Finalizers) > 0 || f.writes() > 0 {
		t.Errorf("%d writes", f.writes())
	}
}
