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

// run starts the controller with the objects of f. It must be called in a synctest bubble.
func run(t *testing.T, f *fixture) *controllerFixture {
	t.Helper()
	cf := &controllerFixture{fixture: f}
	var objects []runtime.Object
	for _, g := range f.groups {
		objects = append(objects, g)
	}
	for _, vm := range f.vms {
		objects = append(objects, vm)
	}
	cf.api = fake.NewSimpleClientset(objects...)
	version := 0
	countWrites := func(action clienttesting.Action) (bool, runtime.Object, error) {
		cf.mu.Lock()
		defer cf.mu.Unlock()
		version++ // The fake client sets no resource versions, which caches compare.
		action.(clienttesting.CreateAction).GetObject().(metav1.Object).SetResourceVersion(strconv.Itoa(version))
		if action.GetResource().Resource == "virtualmachinegroups" && action.GetSubresource() == "status" {
			cf.writes++
		}
		return false, nil, nil
	}
	cf.api.PrependReactor("update", "*", countWrites)
	cf.api.PrependReactor("create", "*", countWrites)
	cf.restart()
	return cf
}

// restart stops the controller and starts another one with the stored objects.
func (cf *controllerFixture) restart() {
	cf.t.Helper()
	if cf.stop != nil {
		cf.stop()
	}
	informers := externalversions.NewSharedInformerFactory(cf.api, 0)
	c, err := New(Deps{Client: cf.api, Informers: informers})
	if err != nil {
		cf.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			cf.t.Error(err)
		}
	})
	cf.stop = func() {
		cancel()
		running.Wait()
		informers.Shutdown()
	}
	synctest.Wait()
}

// after waits and returns the desired power states in the status of a group.
func (cf *controllerFixture) after(d time.Duration, name string) map[string]vmv1alpha1.PowerState {
	cf.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	desired := map[string]vmv1alpha1.PowerState{}
	for _, m := range cf.stored(name).Status.Members {
		desired[m.Name] = m.DesiredPowerState
	}
	return desired
}

func (cf *controllerFixture) stored(name string) *group {
	cf.t.Helper()
	g, err := cf.api.VmV1alpha1().VirtualMachineGroups("dev").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		cf.t.Fatal(err)
	}
	return g
}

// setPowerState sets the power state of a VM to the desired power state of its group.
func (cf *controllerFixture) setPowerState(name string, state vmv1alpha1.PowerState) {
	cf.t.Helper()
	vms := cf.api.VmV1alpha1().VirtualMachines("dev")
	vm, err := vms.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		cf.t.Fatal(err)
	}
	vm.Status.InheritedPowerState, vm.Status.PowerState = state, state
	if _, err := vms.UpdateStatus(context.Background(), vm, metav1.UpdateOptions{}); err != nil {
		cf.t.Fatal(err)
	}
}

func (cf *controllerFixture) expectPowerStates(what string, got map[string]vmv1alpha1.PowerState, want ...string) {
	cf.t.Helper()
	desired := map[string]vmv1alpha1.PowerState{"db": "", "web": ""}
	for _, name := range want {
		desired[name] = on
	}
	if diff := cmp.Diff(desired, got); diff != "" {
		cf.t.Errorf("%s: desired power states (-want +got):\n%s", what, diff)
	}
}

func TestGroup_PowersMembersOnWithRealQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		db, web := awaited("db"), step("web")
		db.PowerOnDelaySeconds, web.PowerOnDelaySeconds = 10, 60
		f.group("shop", on, db, web)
		cf := run(t, f)
		defer func() { cf.stop() }()
		cf.expectPowerStates("before the delay has passed", cf.after(9*time.Second, "shop"))
		cf.expectPowerStates("after the delay", cf.after(2*time.Second, "shop"), "db")
		cf.expectPowerStates("db is not Ready", cf.after(time.Hour, "shop"), "db")
		cf.setPowerState("db", on)
		cf.expectPowerStates("db is Ready, and the delay counts", cf.after(50*time.Second, "shop"), "db")
		cf.restart()
		cf.expectPowerStates("another process continues to wait", cf.after(5*time.Second, "shop"), "db")
		cf.expectPowerStates("until the delay has passed", cf.after(10*time.Second, "shop"), "db", "web")
		cf.setPowerState("web", on)
		cf.after(time.Minute, "shop")
		if !conditions.IsTrue(cf.stored("shop").Status.Conditions, vmv1alpha1.ConditionReady) {
			t.Errorf("the group is not Ready: %+v", cf.stored("shop").Status.Conditions)
		}
		cf.mu.Lock()
		before := cf.writes
		cf.mu.Unlock()
		cf.after(24*time.Hour, "shop")
		cf.mu.Lock()
		defer cf.mu.Unlock()
		if cf.writes != before {
			t.Errorf("%d writes in a day without changes", cf.writes-before)
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
		cf := run(t, f)
		defer func() { cf.stop() }()
		cf.after(time.Second, "all")
		before := cf.writes
		for _, name := range names {
			cf.setPowerState(name, on)
			synctest.Wait() // The fake watch has a small buffer.
		}
		cf.after(time.Minute, "all")
		if !conditions.IsTrue(cf.stored("all").Status.Conditions, vmv1alpha1.ConditionReady) {
			t.Error("the group is not Ready")
		}
		if n := cf.writes - before; n != 1 {
			t.Errorf("%d writes for simultaneous events, want 1", n)
		}
	})
}

func TestGroupHandler_EnqueuesParentsAndChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t)
		f.group("data", "", step("db")).Spec.GroupName = "shop"
		f.group("shop", on, awaited("group/data"), step("web"))
		cf := run(t, f)
		defer func() { cf.stop() }()
		if got := cf.after(time.Second, "data")["db"]; got != on {
			t.Errorf("the desired power state of db is %q, want %s from the parent group", got, on)
		}
		cf.setPowerState("db", on)
		if got := cf.after(time.Second, "shop")["web"]; got != on {
			t.Errorf("the desired power state of web is %q, want %s because the previous group is Ready", got, on)
		}
		ctx, groups := context.Background(), cf.api.VmV1alpha1().VirtualMachineGroups("dev")
		shop := cf.stored("shop")
		shop.Spec.GroupName, shop.Generation = "data", shop.Generation+1
		if _, err := groups.Update(ctx, shop, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		cf.after(time.Second, "data")
		for _, name := range []string{"shop", "data"} {
			want := "False Invalid"
			if name == "shop" {
				want = "False NotLinked" // Group data does not list it.
			}
			if is, _ := conditionText(cf.stored(name).Status.Conditions, vmv1alpha1.ConditionGroupLinked); is != want {
				t.Errorf("GroupLinked of %s is %s, want %s", name, is, want)
			}
		}
		if err := groups.Delete(ctx, "shop", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		cf.after(time.Second, "data")
		if is, _ := conditionText(cf.stored("data").Status.Conditions, vmv1alpha1.ConditionGroupLinked); is != "False NotFound" || cf.stored("data").Status.PowerState != "" {
			t.Errorf("GroupLinked of data is %s, and its desired power state is %q", is, cf.stored("data").Status.PowerState)
		}
	})
}
