// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// placerSetup is a Placer with zones whose checks return the given results.
type placerSetup struct {
	// inPlace is the zone of the requests.
	inPlace string
	*Placer
	t     *testing.T
	zones []*vmv1alpha1.Zone
	read  bool

	mu     sync.Mutex
	offers map[string]provider.ZoneCheck
	asked  int
	hints  []string
	// claims are the claims of the requests.
	claims map[string]provider.Claim
	// placement is the placement of the requests.
	placement *provider.Placement
}

var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // the start time of synctest

func newPlacerSetup(t *testing.T, names ...string) *placerSetup {
	w := &placerSetup{t: t, read: true, offers: map[string]provider.ZoneCheck{}}
	for _, name := range names {
		w.zones = append(w.zones, &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(start)}})
		w.offers[name] = offer(name, nil)
	}
	w.Placer = New(Options{
		Zones: func() ([]*vmv1alpha1.Zone, bool) { return w.zones, w.read },
		Offer: func(_ context.Context, z *vmv1alpha1.Zone, _ *provider.Request) provider.ZoneCheck {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked++
			o := w.offers[z.Name]
			o.At = time.Now()
			return o
		},
		Hint: func(key provider.Key) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.hints = append(w.hints, key.Name)
		},
	})
	return w
}

func machine(name string) *vmv1alpha1.VirtualMachine {
	return &vmv1alpha1.VirtualMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "dev", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(start)}}
}

// place calls Place, and again after the zones were checked.
func (w *placerSetup) place(vm *vmv1alpha1.VirtualMachine) (provider.Result, error) {
	w.t.Helper()
	memory := resource.MustParse("4Gi")
	for {
		r, err := w.Place(w.t.Context(), &provider.Request{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{Memory: &vmv1alpha1.VirtualMachineMemory{Guest: &memory}}, Image: &vmv1alpha1.VirtualMachineImage{}, Claims: w.claims}, VM: vm, PrerequisitesReady: true, Now: time.Now(), Placement: w.placement, Zone: w.inPlace})
		if !errors.Is(err, provider.ErrReconcileInProgress) {
			return r, err
		}
		synctest.Wait()
		if len(w.hints) == 0 {
			w.t.Fatal("no event follows the check of the zones")
		}
	}
}

func TestPlacer_ChoosesAZoneOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a", "b")
		vm := machine("vm")
		r, err := w.place(vm)
		if err != nil || r.Zone != "a" {
			t.Fatalf("chose %q, %v; want a", r.Zone, err)
		}
		if c := conditions.Find(r.Conditions, vmv1alpha1.ConditionCreated); c == nil || c.Reason != vmv1alpha1.ReasonCreating {
			t.Errorf("Created is %+v", c)
		}
		// The status could not be written, and b is better now.
		w.offers["b"] = offer("b", func(o *provider.ZoneCheck) { o.Free = o.Capacity })
		if r, err = w.place(vm); err != nil || r.Zone != "a" {
			t.Errorf("then chose %q, %v; want a again", r.Zone, err)
		}
		// Another object of the same name is a different virtual machine.
		w.Forget(provider.KeyOf(vm))
		vm.UID = "other"
		if r, err = w.place(vm); err != nil || r.Zone != "b" {
			t.Errorf("another object: chose %q, %v; want b", r.Zone, err)
		}
	})
}

func TestPlacer_ConsidersConcurrentChoicesForTheSameGroup(t *testing.T) {
	for policy, want := range map[vmv1alpha1.PlacementPolicy]string{vmv1alpha1.PlacementTogether: "aaa", vmv1alpha1.PlacementApart: "abc"} {
		t.Run(string(policy), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newPlacerSetup(t, "a", "b", "c")
				w.offers["a"] = offer("a", func(o *provider.ZoneCheck) { o.Free = o.Capacity })
				names, got := []string{"x", "y", "z"}, ""
				for _, name := range names {
					w.placement = &provider.Placement{Policy: policy, Group: "shop", Others: map[types.NamespacedName]string{}}
					for _, other := range names {
						if other != name {
							w.placement.Others[types.NamespacedName{Namespace: "dev", Name: other}] = "" // no status has a zone yet
						}
					}
					r, err := w.place(machine(name))
					if err != nil {
						t.Fatal(err)
					}
					got += r.Zone
				}
				if got != want {
					t.Errorf("chose %s, want %s", got, want)
				}
			})
		})
	}
}

func TestPlace_ReportsThatTheZoneOfTheGroupIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a", "b")
		w.offers["b"] = offer("b", func(o *provider.ZoneCheck) { o.Refusal = errors.New("the zone is full") })
		w.placement = &provider.Placement{Policy: vmv1alpha1.PlacementTogether, Group: "shop", Others: map[types.NamespacedName]string{{Namespace: "dev", Name: "x"}: "b"}}
		r, _ := w.place(machine("y"))
		const want = `zone a: VirtualMachineGroup "shop" has placement policy Together and its other virtual machines are in b; zone b: the zone is full`
		if c := conditions.Find(r.Conditions, vmv1alpha1.ConditionPlacementReady); r.Zone != "" || c == nil || c.Status != metav1.ConditionFalse || c.Message != want {
			t.Errorf("chose %q, PlacementReady is %+v; want none, and %s", r.Zone, c, want)
		}
	})
}

func TestPlace_ChecksZonesAgainAfterAChangeOfClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a", "b")
		vm := machine("vm")
		w.claims = map[string]provider.Claim{"data": {VolumeID: "one"}}
		for _, zone := range []string{"a", "b"} {
			w.offers[zone] = offer(zone, func(o *provider.ZoneCheck) { o.Refusal = errors.New("the disk is in another zone") })
		}
		if r, _ := w.place(vm); r.Zone != "" {
			t.Errorf("chose %q; want none", r.Zone)
		}
		w.offers["b"] = offer("b", nil)
		w.claims = map[string]provider.Claim{"data": {VolumeID: "two"}}
		if r, err := w.place(vm); err != nil || r.Zone != "b" {
			t.Errorf("chose %q, %v; want the zone of the other disk", r.Zone, err)
		}
	})
}

func TestPlacer_CountsChoicesUntilFreeResourcesIncludeThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a", "b", "c")
		count := map[string]int{}
		var first *vmv1alpha1.VirtualMachine
		for i := range 9 {
			vm := machine(fmt.Sprintf("vm-%d", i))
			r, err := w.place(vm)
			if err != nil {
				t.Fatal(err)
			}
			if count[r.Zone]++; first == nil {
				vm.Status.Zone, first = r.Zone, vm
			}
		}
		if count["a"] != 3 || count["b"] != 3 || count["c"] != 3 {
			t.Errorf("spread as %v, want three in each zone", count)
		}
		// The first virtual machine exists, and the free resources were read later, so it no longer counts.
		first.Status.UniqueID = "vm-1"
		w.ObserveVM(first, time.Now())
		time.Sleep(time.Second)
		if r, err := w.place(machine("next")); err != nil || r.Zone != "a" {
			t.Errorf("chose %q, %v; want a", r.Zone, err)
		}
		time.Sleep(2 * maxRetryDelay)
		w.ObserveVM(first, time.Now())
		if w.states[provider.KeyOf(first)] != nil {
			t.Error("the state of the virtual machine is never removed")
		}
	})
}

func TestPlace_ChecksZonesWithIncreasingDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a")
		w.offers["a"] = offer("a", func(o *provider.ZoneCheck) { o.Refusal = errors.New("the zone is full") })
		vm := machine("vm")
		r, err := w.place(vm)
		if c := conditions.Find(r.Conditions, vmv1alpha1.ConditionPlacementReady); c == nil || c.Message != "zone a: the zone is full" || c.Reason != vmv1alpha1.ReasonNoZone {
			t.Fatalf("PlacementReady is %+v", c)
		}
		var pauses []time.Duration
		for range 6 {
			after, ok := provider.AsRequeue(err)
			if !ok {
				t.Fatalf("error %v, want a requeue", err)
			}
			pauses = append(pauses, after)
			asked := w.asked
			if _, _ = w.place(vm); w.asked != asked {
				t.Error("a reconcile for another reason checks the zones again")
			}
			time.Sleep(after)
			_, err = w.place(vm)
		}
		if got, want := fmt.Sprint(pauses), "[5s 10s 20s 40s 1m0s 1m0s]"; got != want {
			t.Errorf("delays %s, want %s", got, want)
		}
		// A new or changed zone is checked immediately.
		w.zones = append(w.zones, &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "b", UID: "b", CreationTimestamp: metav1.NewTime(start)}})
		w.offers["b"] = offer("b", nil)
		if r, err = w.place(vm); err != nil || r.Zone != "b" {
			t.Errorf("chose %q, %v; want b", r.Zone, err)
		}
	})
}

func TestPlace_ChoosesNoZoneIfNoneExists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t)
		if r, err := w.place(machine("vm")); !errors.Is(err, provider.ErrUnknownState) || r.Zone != "" || !strings.Contains(err.Error(), `VCenter "default" does not exist`) {
			t.Errorf("chose %q, %v", r.Zone, err)
		}
		w.read = false
		if r, err := w.place(machine("vm")); !errors.Is(err, provider.ErrUnknownState) || len(r.Conditions) > 0 {
			t.Errorf("while zones are not read: conditions %v, error %v", r.Conditions, err)
		}
	})
}

func TestPlace_ChoosesTheDefaultZoneForOldVMs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a")
		w.zones = append(w.zones, &vmv1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: vmv1alpha1.DefaultZone}})
		w.offers["default"] = offer("default", nil)
		old := machine("old")
		old.CreationTimestamp = metav1.NewTime(start.Add(-time.Second))
		w.offers["default"] = offer("default", func(o *provider.ZoneCheck) { o.Refusal = errors.New("no") })
		if r, err := w.place(old); err != nil || r.Zone != "default" || w.asked > 0 {
			t.Errorf("chose %q, %v; want default without a check", r.Zone, err)
		}
		w.inPlace = "a"
		if r, err := w.place(old); err != nil || r.Zone != "a" {
			t.Errorf("an old VM with zone a in the request: chose %q, %v; want a", r.Zone, err)
		}
		w.inPlace = ""
		if r, err := w.place(machine("new")); err != nil || r.Zone != "a" {
			t.Errorf("a new VM: chose %q, %v; want a", r.Zone, err)
		}
		w.zones = w.zones[1:]
		if r, err := w.place(machine("only")); err != nil || r.Zone != "default" {
			t.Errorf("without Zone objects: chose %q, %v; want default", r.Zone, err)
		}
	})
}

func TestPlace_WaitsForTheVMToAdopt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a", "b")
		vm := machine("vm")
		vm.Spec.InstanceUUID = "4c4c4544-0000-2010-8020-80c04f202020"
		place := func() (r provider.Result, err error) {
			for {
				r, err = w.Place(t.Context(), &provider.Request{VM: vm, Now: time.Now()})
				if !errors.Is(err, provider.ErrReconcileInProgress) {
					return r, err
				}
				synctest.Wait()
			}
		}
		r, err := place()
		after, again := provider.AsRequeue(err)
		if !again || r.Zone != "" {
			t.Fatalf("chose %q, %v; want to wait", r.Zone, err)
		}
		w.offers["b"] = offer("b", func(o *provider.ZoneCheck) { o.HasVM = true })
		time.Sleep(after)
		if r, err = place(); err != nil || r.Zone != "b" {
			t.Errorf("chose %q, %v; want the zone that has it", r.Zone, err)
		}
	})
}

// Virtual machines in zones of other shards are not observed here, nor is their deletion.
func TestPlacer_KeepsAnUnobservedChoiceForALimitedTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a", "b")
		chosen := func(name string) string {
			r, err := w.place(machine(name))
			if err != nil {
				t.Fatal(err)
			}
			return r.Zone
		}
		if first, second := chosen("one"), chosen("two"); first != "a" || second != "b" {
			t.Errorf("chose %s and %s, want a and b", first, second)
		}
		time.Sleep(choiceTimeout + time.Second)
		if third := chosen("three"); third != "a" || len(w.states) != 1 {
			t.Errorf("chose %s, %d choices are kept; want a and only the last choice", third, len(w.states))
		}
	})
}

// Resources that a zone lacks are reported in addition to unmet prerequisites, and no zone is chosen.
func TestPlace_ReportsMissingResourcesBeforeOtherPrerequisitesAreMet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a")
		w.offers["a"] = offer("a", func(o *provider.ZoneCheck) {
			o.Refusal = &provider.NotUsableError{Message: `vSphere has no network "nope"`, Missing: true}
		})
		vm := machine("vm")
		vm.Spec.Network = &vmv1alpha1.VirtualMachineNetworkSpec{Interfaces: []vmv1alpha1.VirtualMachineNetworkInterface{{Name: "eth0", Network: "nope"}}}
		place := func() provider.Result {
			for {
				r, err := w.Place(t.Context(), &provider.Request{VM: vm, Now: time.Now()})
				if !errors.Is(err, provider.ErrReconcileInProgress) {
					return r
				}
				if c := conditions.Find(r.Conditions, vmv1alpha1.ConditionCreated); c != nil && c.Message != "waiting for other prerequisites before a zone is chosen" {
					t.Errorf("Created is %+v while the zone is checked", c)
				}
				synctest.Wait()
			}
		}
		r := place()
		c := conditions.Find(r.Conditions, vmv1alpha1.ConditionPlacementReady)
		if c == nil || c.Status != metav1.ConditionFalse || c.Message != `zone a: vSphere has no network "nope"` || r.Zone != "" {
			t.Fatalf("PlacementReady is %+v, zone %q", c, r.Zone)
		}
		w.offers["a"] = offer("a", nil)
		vm.Spec.Network.Interfaces[0].Network = "there"
		r = place()
		created := conditions.Find(r.Conditions, vmv1alpha1.ConditionCreated)
		if r.Zone != "" || len(r.Conditions) != 1 || created.Message != "waiting for other prerequisites before a zone is chosen" || !slices.Contains(r.Withdrawn, vmv1alpha1.ConditionPlacementReady) {
			t.Errorf("result %+v, want no zone yet and no message about a network", r)
		}
		before := w.asked
		place()
		if w.asked != before {
			t.Error("the zone is checked again without a change")
		}
	})
}

func TestPlace_ReportsAnUnreachableVCenter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newPlacerSetup(t, "a")
		unreachable := &provider.UnreachableError{VCenter: "east", Err: errors.New("connection refused")}
		w.offers["a"] = offer("a", func(o *provider.ZoneCheck) { o.CheckErr = unreachable })
		r, _ := w.place(machine("vm"))
		c := conditions.Find(r.Conditions, vmv1alpha1.ConditionPlacementReady)
		if c == nil || c.Status != metav1.ConditionUnknown || c.Reason != vmv1alpha1.ReasonUnreachable || c.Message != `zone a: VCenter "east" is not connected: connection refused` {
			t.Errorf("PlacementReady is %+v", c)
		}
	})
}
