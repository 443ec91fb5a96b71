// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package group

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/fake"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
)

// controllerFixture is the controller with a fake server and a synthetic clock.
type controllerFixture struct {
	*fixture
	api    *fake.Clientset
	mu     sync.Mutex
	writes int
	stop   func()
}

// run starts the controller with the objects of w. It must be called in a synctest bubble.
func run(t *testing.T, f *fixture) *controllerFixture {
	t.Helper()
	f := &controllerFixture{fixture: f}
	var objects []runtime.Object
	for _, g := range f.groups {
		objects = append(objects, g)
	}
	for _, vm := range f.vms {
		objects = append(objects, vm)
	}
	f.api = fake.NewSimpleClientset(objects...)
	version := 0
	stamp := func(action clienttesting.Action) (bool, runtime.Object, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		version++ // The fake client sets no resource versions, which caches compare.
		action.(clienttesting.CreateAction).GetObject().(metav1.Object).SetResourceVersion(strconv.Itoa(version))
		if action.GetResource().Resource == "virtualmachinegroups" && action.GetSubresource() == "status" {
			f.writes++
		}
		return false, nil, nil
	}
	f.api.PrependReactor("update", "*", stamp)
	f.api.PrependReactor("create", "*", stamp)
	f.restart()
	return f
}

// restart stops the controller and starts another one with the stored objects.
func (f *controllerFixture) restart() {
	f.t.Helper()
	if f.stop != nil {
		f.stop()
	}
	informers := externalversions.NewSharedInformerFactory(f.api, 0)
	c, err := New(Deps{Client: f.api, Informers: informers})
	if err != nil {
		f.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			f.t.Error(err)
		}
	})
	f.stop = func() {
		cancel()
		running.Wait()
		informers.Shutdown()
	}
	synctest.Wait()
}

// after waits and returns the desired power states in the status of a group.
func (f *controllerFixture) after(d time.Duration, name string) map[string]vmv1alpha1.PowerState {
	f.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	desiredState := map[string]vmv1alpha1.PowerState{}
	for _, m := range f.stored(name).Status.Members {
		desiredState[m.Name] = m.DesiredPowerState
	}
	return desiredState
}

func (f *controllerFixture) stored(name string) *group {
	f.t.Helper()
	g, err := f.api.VmV1alpha1().VirtualMachineGroups("dev").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return g
}

// setPowerState writes a VM that has the desired power state of its group.
func (f *controllerFixture) setPowerState(name string, state vmv1alpha1.PowerState) {
	f.t.Helper()
	vms := f.api.VmV1alpha1().VirtualMachines("dev")
	vm, err := vms.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	vm.Status.InheritedPowerState, vm.Status.PowerState = state, state
	if _, err := vms.UpdateStatus(context.Background(), vm, metav1.UpdateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

func (f *controllerFixture) expectPowerStates(what string, got map[string]vmv1alpha1.PowerState, want ...string) {
	f.t.Helper()
	asked := map[string]vmv1alpha1.PowerState{"db": "", "web": ""}
	for _, name := range want {
		asked[name] = on
	}
	if diff := cmp.Diff(asked, got); diff != "" {
		f.t.Errorf("%s: asked for (-want +got):\n%s", what, diff)
	}
}

func TestGroup_PowersMembersOnWithRealQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		db, web := waits("db"), step("web")
		db.PowerOnDelaySeconds, web.PowerOnDelaySeconds = 10, 60
		f.group("shop", on, db, web)
		f := run(t, f)
		defer func() { f.stop() }()
		f.expectPowerStates("time has not arrived", f.after(9*time.Second, "shop"))
		f.expectPowerStates("time has arrived", f.after(2*time.Second, "shop"), "db")
		f.expectPowerStates("db is not Ready", f.after(time.Hour, "shop"), "db")
		f.setPowerState("db", on)
		f.expectPowerStates("db is Ready, and the delay counts", f.after(50*time.Second, "shop"), "db")
		f.restart()
		f.expectPowerStates("another process waits on", f.after(5*time.Second, "shop"), "db")
		f.expectPowerStates("until the time has arrived", f.after(10*time.Second, "shop"), "db", "web")
		f.setPowerState("web", on)
		f.after(time.Minute, "shop")
		if !conditions.IsTrue(f.stored("shop").Status.Conditions, vmv1alpha1.ConditionReady) {
			t.Errorf("the group is not Ready: %+v", f.stored("shop").Status.Conditions)
		}
		f.mu.Lock()
		before := f.writes
		f.mu.Unlock()
		f.after(24*time.Hour, "shop")
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.writes != before {
			t.Errorf("%d writes in a day in which nothing happened", f.writes-before)
		}
		if before > 8 {
			t.Errorf("%d writes for two steps", before)
		}
	})
}

func TestEvents_AreCollectedForHundredsOfMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		var names []string
		for i := range 200 {
			names = append(names, "vm-"+strconv.Itoa(i))
		}
		f.group("all", on, step(names...))
		f := run(t, f)
		defer func() { f.stop() }()
		f.after(time.Second, "all")
		before := f.writes
		for _, name := range names {
			f.setPowerState(name, on)
			synctest.Wait() // The fake's watch is narrow.
		}
		f.after(time.Minute, "all")
		if !conditions.IsTrue(f.stored("all").Status.Conditions, vmv1alpha1.ConditionReady) {
			t.Error("the group is not Ready")
		}
		if n := f.writes - before; n != 1 {
			t.Errorf("%d writes for simultaneous events, want 1", n)
		}
	})
}

func TestGroupHandler_EnqueuesParentsAndChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.group("data", "", step("db")).Spec.GroupName = "shop"
		f.group("shop", on, waits("group/data"), step("web"))
		f := run(t, f)
		defer func() { f.stop() }()
		if got := f.after(time.Second, "data")["db"]; got != on {
			t.Errorf("db is asked to be %q by way of its group, want %s", got, on)
		}
		f.setPowerState("db", on)
		if got := f.after(time.Second, "shop")["web"]; got != on {
			t.Errorf("web is asked to be %q, want %s now that the group before it is Ready", got, on)
		}
		ctx, groups := context.Background(), f.api.VmV1alpha1().VirtualMachineGroups("dev")
		shop := f.stored("shop")
		shop.Spec.GroupName, shop.Generation = "data", shop.Generation+1
		if _, err := groups.Update(ctx, shop, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		f.after(time.Second, "data")
		for _, name := range []string{"shop", "data"} {
			want := "False Invalid"
			if name == "shop" {
				want = "False NotLinked" // data does not name it
			}
			if is, _ := conditionText(f.stored(name).Status.Conditions, vmv1alpha1.ConditionGroupLinked); is != want {
				t.Errorf("GroupLinked of %s is %s, want %s", name, is, want)
			}
		}
		if err := groups.Delete(ctx, "shop", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		f.after(time.Second, "data")
		if is, _ := conditionText(f.stored("data").Status.Conditions, vmv1alpha1.ConditionGroupLinked); is != "False NotFound" || f.stored("data").Status.PowerState != "" {
			t.Errorf("GroupLinked of data is %s, and it is brought to %q", is, f.stored("data").Status.PowerState)
		}
	})
}
