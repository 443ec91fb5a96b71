// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	hostfake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// assembled is a complete controller with a fake server, without its workers.
type assembled struct {
	*Controller
	deps   Deps
	api    *api
	host   *hostfake.Clientset
	events *journal
}

func assemble(t *testing.T, objects ...runtime.Object) *assembled {
	t.Helper()
	return assembleWith(t, &scripted{}, objects...)
}

func assembleWith(t *testing.T, p provider.Provider, objects ...runtime.Object) *assembled {
	t.Helper()
	a := &assembled{api: newAPI(t, objects...), host: hostfake.NewClientset(), events: &journal{}}
	a.deps = Deps{
		Client:    a.api,
		Informers: externalversions.NewSharedInformerFactory(a.api, 0),
		Host:      a.host,
		Provider:  p,
		Recorder:  a.events,
		Addresses: &pools{},
		Machines:  &fakeMachines{},
	}
	c, err := New(a.deps)
	if err != nil {
		t.Fatal(err)
	}
	a.Controller = c
	return a
}

// watch starts informers and handlers, but no workers, until the test ends.
func (a *assembled) watch(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(func() {
		cancel()
		a.deps.Informers.Shutdown()
		a.Keys.ShutDown()
	})
	if err := a.Sync(ctx); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// handedOut is a key that the queue returned, with its priority.
type handedOut struct {
	Name     string
	Priority int
}

// drain removes all keys that are ready from the queue.
func (a *assembled) drain() []handedOut {
	var all []handedOut
	for range a.Keys.Len() {
		key, priority, _ := a.Keys.GetWithPriority()
		all = append(all, handedOut{key.Name, priority})
		a.Keys.Done(key)
	}
	return all
}

// byNameOf sorts keys of one priority. Related objects queue them in the order of an index.
func byNameOf(all []handedOut) []handedOut {
	slices.SortFunc(all, func(a, b handedOut) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func named(name string) func(*vmv1alpha1.VirtualMachine) {
	return func(vm *vmv1alpha1.VirtualMachine) { vm.Name, vm.UID = name, "" }
}

// Scenario 5 of the specification: 1,000 virtual machines in the initial list must not delay one that a user creates or
// changes in the meantime.
func TestHandlers_UsersHavePriorityOverTheInitialList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 1000
		var objects []runtime.Object
		want := []handedOut{{"made-now", PriorityCreating}, {"vm-0500", PriorityPowerStateChange}}
		waiting := map[string]int{}
		for i := range count {
			name := fmt.Sprintf("vm-%04d", i)
			vm := stable(named(name))
			if i%10 == 0 {
				vm = stable(named(name), withoutConditions) // was being created before the restart
			}
			objects = append(objects, vm)
			waiting[name] = controller.PriorityDefaultCreate
		}
		delete(waiting, "vm-0500")
		a := assemble(t, objects...)
		a.watch(t)

		vms := a.api.VmV1alpha1().VirtualMachines("ns")
		a.api.edit("vm-0500", func(vm *vmv1alpha1.VirtualMachine) {
			vm.Status.Conditions = stable().Status.Conditions
			vm.Spec.PowerState = vmv1alpha1.PoweredOff
		})
		if _, err := vms.Create(t.Context(), fresh(named("made-now")), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		got := a.drain()
		if len(got) != count+1 {
			t.Fatalf("%d keys were queued, want %d", len(got), count+1)
		}
		if diff := cmp.Diff(want, got[:2]); diff != "" {
			t.Errorf("the first keys differ (-want +got):\n%s", diff)
		}
		rest := map[string]int{}
		for _, h := range got[2:] {
			rest[h.Name] = h.Priority
		}
		if diff := cmp.Diff(waiting, rest); diff != "" {
			t.Errorf("the rest differs (-want +got):\n%s", diff)
		}
	})
}

func TestHandlers_SetPrioritiesOfEvents(t *testing.T) {
	type handler = cache.ResourceEventHandler
	version := func(v string) func(*vmv1alpha1.VirtualMachine) {
		return func(vm *vmv1alpha1.VirtualMachine) { vm.ResourceVersion = v }
	}
	off := power(vmv1alpha1.PoweredOff, vmv1alpha1.PoweredOn)
	tests := map[string]struct {
		event func(handler)
		want  int
	}{
		"initial list, stable":               {func(h handler) { h.OnAdd(stable(), true) }, controller.PriorityDefaultCreate},
		"initial list, being created":        {func(h handler) { h.OnAdd(fresh(), true) }, controller.PriorityDefaultCreate},
		"initial list, override":             {func(h handler) { h.OnAdd(stable(override("50")), true) }, controller.PriorityDefaultCreate},
		"new":                                {func(h handler) { h.OnAdd(fresh(), false) }, PriorityCreating},
		"new, but stable":                    {func(h handler) { h.OnAdd(stable(), false) }, controller.PriorityDefaultCreate},
		"unchanged update":                   {func(h handler) { h.OnUpdate(stable(version("5")), stable(version("5"))) }, controller.PriorityDefaultUpdate},
		"unchanged update, power":            {func(h handler) { h.OnUpdate(stable(version("5"), off), stable(version("5"), off)) }, controller.PriorityDefaultUpdate},
		"changed update, stable":             {func(h handler) { h.OnUpdate(stable(version("5")), stable(version("6"))) }, controller.PriorityDefaultUpdate},
		"changed update, power":              {func(h handler) { h.OnUpdate(stable(version("5")), stable(version("6"), off)) }, PriorityPowerStateChange},
		"changed update, address":            {func(h handler) { h.OnUpdate(stable(version("5")), stable(version("6"), ips("", ""))) }, PriorityWaitingForIP},
		"changed update, deletion":           {func(h handler) { h.OnUpdate(stable(version("5")), stable(version("6"), deleting)) }, PriorityDeleting},
		"changed update, override":           {func(h handler) { h.OnUpdate(stable(version("5")), stable(version("6"), override("50"))) }, 50},
		"deleted":                            {func(h handler) { h.OnDelete(stable(deleting)) }, PriorityDeleting},
		"deleted, without deletionTimestamp": {func(h handler) { h.OnDelete(stable()) }, controller.PriorityDefaultDelete},
		"missed deletion": {func(h handler) {
			h.OnDelete(cache.DeletedFinalStateUnknown{Key: "ns/vm", Obj: stable(deleting)})
		}, PriorityDeleting},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a := assemble(t)
			test.event(a.enqueuer.Handler())
			if diff := cmp.Diff([]handedOut{{"vm", test.want}}, a.drain()); diff != "" {
				t.Errorf("queued (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHandlers_ReportAnInvalidPriorityOnce(t *testing.T) {
	a := assemble(t)
	h := a.enqueuer.Handler()
	h.OnAdd(stable(override("soon")), true)
	if got := a.events.take(); len(got) != 0 {
		t.Errorf("the initial list reported %q", got)
	}
	vm := stable(override("soon"))
	h.OnAdd(vm, false)
	if got := a.events.take(); len(got) != 1 {
		t.Errorf("events %q, want one", got)
	}
	changed := stable(override("soon"))
	changed.ResourceVersion = "7"
	h.OnUpdate(vm, changed)
	if got := a.events.take(); len(got) != 0 {
		t.Errorf("the same value was reported again: %q", got)
	}
	other := stable(override("later"))
	other.ResourceVersion = "8"
	h.OnUpdate(changed, other)
	if got := a.events.take(); len(got) != 1 {
		t.Errorf("events %q for another invalid value, want one", got)
	}
}

func TestHandlers_EventsAndRequeuesEvaluateTheState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := assemble(t, stable(), fresh(named("new")))
		a.watch(t)
		a.drain()
		for _, name := range []string{"vm", "new", "unknown"} {
			key := testKey
			key.Name = name
			a.enqueuer.EnqueueGeneric(key)
		}
		want := []handedOut{{"new", PriorityCreating}, {"vm", controller.PriorityDefaultGeneric}}
		if diff := cmp.Diff(want, a.drain()); diff != "" {
			t.Errorf("queued (-want +got):\n%s", diff)
		}
		if got := a.enqueuer.RequeuePriority(testKey); got != controller.PriorityDefaultGeneric {
			t.Errorf("requeueing the stable VM has priority %d, want %d", got, controller.PriorityDefaultGeneric)
		}
	})
}

// referring returns virtual machines with the names of the objects that they refer to.
func referring() []runtime.Object {
	bySize := func(name string, change func(*vmv1alpha1.VirtualMachineSpec)) *vmv1alpha1.VirtualMachine {
		vm := stable(named(name))
		change(&vm.Spec)
		return vm
	}
	return []runtime.Object{
		stable(named("none")),
		bySize("of-class", func(s *vmv1alpha1.VirtualMachineSpec) { s.ClassName = "c" }),
		bySize("of-image", func(s *vmv1alpha1.VirtualMachineSpec) { s.Image = &vmv1alpha1.VirtualMachineImageRef{Name: "i"} }),
		bySize("of-cluster-image", func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Image = &vmv1alpha1.VirtualMachineImageRef{Kind: "ClusterVirtualMachineImage", Name: "i"}
		}),
		bySize("of-type", func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "t", Kind: "virtualmachineinstancetypes"}
		}),
		bySize("of-cluster-type", func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Instancetype = &vmv1alpha1.InstancetypeMatcher{Name: "t"}
		}),
		bySize("of-preference", func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Preference = &vmv1alpha1.PreferenceMatcher{Name: "p", Kind: "VirtualMachinePreference"}
		}),
		bySize("of-cluster-preference", func(s *vmv1alpha1.VirtualMachineSpec) {
			s.Preference = &vmv1alpha1.PreferenceMatcher{Name: "p"}
		}),
		stable(named("inferred"), func(vm *vmv1alpha1.VirtualMachine) {
			vm.Status.InstancetypeRef = &vmv1alpha1.InstancetypeRef{Name: "t", Kind: "virtualmachineclusterinstancetype"}
		}),
	}
}

func TestHandlers_RelatedObjectsQueueTheirVMs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := assemble(t, referring()...)
		a.watch(t)
		a.drain()
		ctx, in := t.Context(), func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }
		vm, it := a.api.VmV1alpha1(), a.api.InstancetypeV1alpha1()
		steps := []struct {
			name string
			do   func() error
			want []handedOut
		}{
			{"class", func() error {
				_, err := vm.VirtualMachineClasses("ns").Create(ctx, &vmv1alpha1.VirtualMachineClass{ObjectMeta: in("c")}, metav1.CreateOptions{})
				return err
			}, []handedOut{{"of-class", controller.PriorityDefaultGeneric}}},
			{"class of another namespace", func() error {
				other := metav1.ObjectMeta{Namespace: "other", Name: "c"}
				_, err := vm.VirtualMachineClasses("other").Create(ctx, &vmv1alpha1.VirtualMachineClass{ObjectMeta: other}, metav1.CreateOptions{})
				return err
			}, nil},
			{"image", func() error {
				_, err := vm.VirtualMachineImages("ns").Create(ctx, &vmv1alpha1.VirtualMachineImage{ObjectMeta: in("i")}, metav1.CreateOptions{})
				return err
			}, []handedOut{{"of-image", controller.PriorityDefaultGeneric}}},
			{"cluster image", func() error {
				_, err := vm.ClusterVirtualMachineImages().Create(ctx, &vmv1alpha1.ClusterVirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Name: "i"}}, metav1.CreateOptions{})
				return err
			}, []handedOut{{"of-cluster-image", controller.PriorityDefaultGeneric}}},
			{"instance type", func() error {
				_, err := it.VirtualMachineInstancetypes("ns").Create(ctx, &itv1alpha1.VirtualMachineInstancetype{ObjectMeta: in("t")}, metav1.CreateOptions{})
				return err
			}, []handedOut{{"of-type", controller.PriorityDefaultGeneric}}},
			{"cluster instance type", func() error {
				_, err := it.VirtualMachineClusterInstancetypes().Create(ctx, &itv1alpha1.VirtualMachineClusterInstancetype{ObjectMeta: metav1.ObjectMeta{Name: "t"}}, metav1.CreateOptions{})
				return err
			}, []handedOut{{"inferred", controller.PriorityDefaultGeneric}, {"of-cluster-type", controller.PriorityDefaultGeneric}}},
			{"preference", func() error {
				_, err := it.VirtualMachinePreferences("ns").Create(ctx, &itv1alpha1.VirtualMachinePreference{ObjectMeta: in("p")}, metav1.CreateOptions{})
				return err
			}, []handedOut{{"of-preference", controller.PriorityDefaultGeneric}}},
			{"cluster preference", func() error {
				_, err := it.VirtualMachineClusterPreferences().Create(ctx, &itv1alpha1.VirtualMachineClusterPreference{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, metav1.CreateOptions{})
				return err
			}, []handedOut{{"of-cluster-preference", controller.PriorityDefaultGeneric}}},
			{"deleted class", func() error {
				return vm.VirtualMachineClasses("ns").Delete(ctx, "c", metav1.DeleteOptions{})
			}, []handedOut{{"of-class", controller.PriorityDefaultGeneric}}},
		}
		for _, step := range steps {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			synctest.Wait()
			if diff := cmp.Diff(step.want, byNameOf(a.drain())); diff != "" {
				t.Errorf("%s queued (-want +got):\n%s", step.name, diff)
			}
		}
	})
}
