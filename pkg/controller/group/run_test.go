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

// live is the controller with a fake server and a synthetic clock.
type live struct {
	*world
	api    *fake.Clientset
	mu     sync.Mutex
	writes int
	stop   func()
}

// run starts the controller with the objects of w. It must be called in a synctest bubble.
func run(t *testing.T, w *world) *live {
	t.Helper()
	l := &live{world: w}
	var objects []runtime.Object
	for _, g := range w.groups {
		objects = append(objects, g)
	}
	for _, vm := range w.vms {
		objects = append(objects, vm)
	}
	l.api = fake.NewSimpleClientset(objects...)
	version := 0
	stamp := func(action clienttesting.Action) (bool, runtime.Object, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		version++ // The fake client sets no resource versions, which caches compare.
		action.(clienttesting.CreateAction).GetObject().(metav1.Object).SetResourceVersion(strconv.Itoa(version))
		if action.GetResource().Resource == "virtualmachinegroups" && action.GetSubresource() == "status" {
			l.writes++
		}
		return false, nil, nil
	}
	l.api.PrependReactor("update", "*", stamp)
	l.api.PrependReactor("create", "*", stamp)
	l.restart()
	return l
}

// restart stops the controller and starts another one with the stored objects.
func (l *live) restart() {
	l.t.Helper()
	if l.stop != nil {
		l.stop()
	}
	informers := externalversions.NewSharedInformerFactory(l.api, 0)
	c, err := New(Deps{Client: l.api, Informers: informers})
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := c.Run(ctx); err != nil {
			l.t.Error(err)
		}
	})
	l.stop = func() {
		cancel()
		running.Wait()
		informers.Shutdown()
	}
	synctest.Wait()
}

// after waits and returns the desired power states in the status of a group.
func (l *live) after(d time.Duration, name string) map[string]vmv1alpha1.PowerState {
	l.t.Helper()
	time.Sleep(d)
	synctest.Wait()
	told := map[string]vmv1alpha1.PowerState{}
	for _, m := range l.stored(name).Status.Members {
		told[m.Name] = m.DesiredPowerState
	}
	return told
}

func (l *live) stored(name string) *group {
	l.t.Helper()
	g, err := l.api.VmV1alpha1().VirtualMachineGroups("dev").Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return g
}

// follows writes a VM that has the desired power state of its group.
func (l *live) follows(name string, state vmv1alpha1.PowerState) {
	l.t.Helper()
	vms := l.api.VmV1alpha1().VirtualMachines("dev")
	vm, err := vms.Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	vm.Status.InheritedPowerState, vm.Status.PowerState = state, state
	if _, err := vms.UpdateStatus(context.Background(), vm, metav1.UpdateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *live) wants(what string, got map[string]vmv1alpha1.PowerState, want ...string) {
	l.t.Helper()
	asked := map[string]vmv1alpha1.PowerState{"db": "", "web": ""}
	for _, name := range want {
		asked[name] = on
	}
	if diff := cmp.Diff(asked, got); diff != "" {
		l.t.Errorf("%s: requests (-want +got):\n%s", what, diff)
	}
}

func TestGroup_FollowsThePowerChartOnTheWorkqueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		db, web := waits("db"), step("web")
		db.PowerOnDelaySeconds, web.PowerOnDelaySeconds = 10, 60
		w.group("shop", on, db, web)
		l := run(t, w)
		defer func() { l.stop() }()
		l.wants("time has not arrived", l.after(9*time.Second, "shop"))
		l.wants("time has arrived", l.after(2*time.Second, "shop"), "db")
		l.wants("db is not Ready", l.after(time.Hour, "shop"), "db")
		l.follows("db", on)
		l.wants("db is Ready, and the delay counts", l.after(50*time.Second, "shop"), "db")
		l.restart()
		l.wants("another process waits on", l.after(5*time.Second, "shop"), "db")
		l.wants("until the time has arrived", l.after(10*time.Second, "shop"), "db", "web")
		l.follows("web", on)
		l.after(time.Minute, "shop")
		if !conditions.IsTrue(l.stored("shop").Status.Conditions, vmv1alpha1.ConditionReady) {
			t.Errorf("the group is not Ready: %+v", l.stored("shop").Status.Conditions)
		}
		l.mu.Lock()
		before := l.writes
		l.mu.Unlock()
		l.after(24*time.Hour, "shop")
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.writes != before {
			t.Errorf("%d writes in a day in which nothing happened", l.writes-before)
		}
		if before > 8 {
			t.Errorf("%d writes for two steps", before)
		}
	})
}

func TestEvents_OfHundredsOfMembersAreCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var names []string
		for i := range 200 {
			names = append(names, "vm-"+strconv.Itoa(i))
		}
		w.group("all", on, step(names...))
		l := run(t, w)
		defer func() { l.stop() }()
		l.after(time.Second, "all")
		before := l.writes
		for _, name := range names {
			l.follows(name, on)
			synctest.Wait() // The fake's watch is narrow.
		}
		l.after(time.Minute, "all")
		if !conditions.IsTrue(l.stored("all").Status.Conditions, vmv1alpha1.ConditionReady) {
			t.Error("the group is not Ready")
		}
		if n := l.writes - before; n != 1 {
			t.Errorf("%d writes for what happened within a moment, want 1", n)
		}
	})
}

func TestEvents_OfAGroupEnqueueParentsAndChildren(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.group("data", "", step("db")).Spec.GroupName = "shop"
		w.group("shop", on, waits("group/data"), step("web"))
		l := run(t, w)
		defer func() { l.stop() }()
		if got := l.after(time.Second, "data")["db"]; got != on {
			t.Errorf("the power state requested by db's group is %q, want %s", got, on)
		}
		l.follows("db", on)
		if got := l.after(time.Second, "shop")["web"]; got != on {
			t.Errorf("the requested power state of web is %q, want %s because the previous group is Ready", got, on)
		}
		ctx, groups := context.Background(), l.api.VmV1alpha1().VirtualMachineGroups("dev")
		shop := l.stored("shop")
		shop.Spec.GroupName, shop.Generation = "data", shop.Generation+1
		if _, err := groups.Update(ctx, shop, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Second, "data")
		for _, name := range []string{"shop", "data"} {
			want := "False Invalid"
			if name == "shop" {
				want = "False NotLinked" // data does not name it
			}
			if is, _ := says(l.stored(name).Status.Conditions, vmv1alpha1.ConditionGroupLinked); is != want {
				t.Errorf("GroupLinked of %s is %s, want %s", name, is, want)
			}
		}
		if err := groups.Delete(ctx, "shop", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		l.after(time.Second, "data")
		if is, _ := says(l.stored("data").Status.Conditions, vmv1alpha1.ConditionGroupLinked); is != "False NotFound" || l.stored("data").Status.PowerState != "" {
			t.Errorf("GroupLinked of data is %s, and it is brought to %q", is, l.stored("data").Status.PowerState)
		}
	})
}
