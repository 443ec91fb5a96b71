// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/conformance"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
	"github.com/slipway-dev/slipway/pkg/provider/fleet"
	"github.com/slipway-dev/slipway/pkg/provider/placement"
)

// byNamespace returns the namespace as the name of the vCenter.
func byNamespace(vm *vmv1alpha1.VirtualMachine) string { return vm.Namespace }

// newFleet returns a running fleet.
func newFleet(t *testing.T, of func(*vmv1alpha1.VirtualMachine) string) *fleet.Fleet[*engine.Engine] {
	t.Helper()
	f := fleet.New[*engine.Engine](of, placement.New(placement.Options{}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { f.Run(ctx); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return f
}

// setDriver sets the driver of a vCenter. If d is nil, the vCenter does not exist.
func setDriver(t *testing.T, f *fleet.Fleet[*engine.Engine], name string, d *fake.Driver) {
	t.Helper()
	var open func() (*engine.Engine, error)
	if d != nil {
		open = func() (*engine.Engine, error) { return engine.New(engine.Options{Driver: d}), nil }
	}
	if err := f.Use(t.Context(), name, open); err != nil {
		t.Fatal(err)
	}
}

func newRequest(vcenter, name string) *provider.Request {
	return &provider.Request{Desired: provider.Desired{Effective: &vmv1alpha1.VirtualMachineInstanceSpec{}, Image: &vmv1alpha1.VirtualMachineImage{}}, VM: &vmv1alpha1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: vcenter, Name: name, UID: uuid.NewUUID()},
		Status:     vmv1alpha1.VirtualMachineStatus{Zone: "a"},
	}, PrerequisitesReady: true}
}

// watch returns a channel with the names of the objects for which events are sent.
func watch(t *testing.T, f *fleet.Fleet[*engine.Engine]) <-chan string {
	t.Helper()
	events := make(chan string, 100)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { f.Watch(ctx, func(h provider.Event) { events <- h.Key.Name }); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	return events
}

func TestConformance(t *testing.T) {
	conformance.Run(t, func(t *testing.T, creates int) *conformance.Target {
		d := fake.New()
		d.SetReadable(false)
		f := newFleet(t, func(*vmv1alpha1.VirtualMachine) string { return "vc" })
		err := f.Use(t.Context(), "vc", func() (*engine.Engine, error) {
			return engine.New(engine.Options{Driver: d, Limits: engine.Limits{Creates: creates}}), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return &conformance.Target{
			Provider: f,
			Start:    func() { d.SetReadable(true) },
			Request:  func(name string) *provider.Request { return newRequest("ns", name) },
			Hold:     d.Block,
			Count: func(id string) int {
				if _, ok := d.VMs()[id]; ok {
					return 1
				}
				return 0
			},
			Calls: d.Calls,
		}
	})
}

func TestFleet_CallsTheProviderOfTheVMsVCenter(t *testing.T) {
	f, one, two := newFleet(t, byNamespace), fake.New(), fake.New()
	setDriver(t, f, "one", one)
	setDriver(t, f, "two", two)
	for _, vcenter := range []string{"one", "two", "two"} {
		r, err := f.CreateOrUpdateVirtualMachineAsync(t.Context(), newRequest(vcenter, "vm"))
		if err != nil || r.Ended == nil {
			t.Fatalf("result %+v, error %v, want a create", r, err)
		}
		<-r.Ended
	}
	if len(one.VMs()) != 1 || len(two.VMs()) != 2 {
		t.Errorf("%d and %d VMs were created, want 1 and 2", len(one.VMs()), len(two.VMs()))
	}
}

func TestFleet_WaitsUntilAVCenterIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, byNamespace)
		events := watch(t, f)
		asked, called := newRequest("vc", "asked"), newRequest("vc", "called")
		if !f.IsUnread(asked.VM) {
			t.Error("IsUnread = false for a VM of an unknown vCenter")
		}
		r, err := f.CreateOrUpdateVirtualMachineAsync(t.Context(), called)
		if !errors.Is(err, provider.ErrUnknownState) || len(r.Conditions) != 0 {
			t.Errorf("result %+v, error %v, want ErrUnknownState and no conditions", r, err)
		}
		synctest.Wait()
		if len(events) != 0 {
			t.Errorf("event for %s, want none while the vCenter is unknown", <-events)
		}
		setDriver(t, f, "vc", nil)
		synctest.Wait()
		if got := drain(events); len(got) != 2 {
			t.Errorf("events for %v, want both", got)
		}
		if f.IsUnread(asked.VM) {
			t.Error("IsUnread = true for a VM without a vCenter")
		}
		r, err = f.CreateOrUpdateVirtualMachineAsync(t.Context(), called)
		c := conditions.Find(r.Conditions, vmv1alpha1.ConditionCreated)
		if !errors.Is(err, provider.ErrUnknownState) || c == nil || c.Status != metav1.ConditionUnknown ||
			c.Message != `the state of the virtual machine is not known: VCenter "vc" does not exist` {
			t.Errorf("condition %+v, error %v, want a missing vCenter", c, err)
		}
		if _, err = f.DeleteVirtualMachine(t.Context(), called); !errors.Is(err, provider.ErrUnknownState) {
			t.Errorf("deletion without a vCenter: %v", err)
		}

		d := fake.New()
		setDriver(t, f, "vc", d)
		synctest.Wait()
		if got := drain(events); len(got) != 1 || got[0] != "called" {
			t.Errorf("events for %v, want called", got)
		}
	})
}

func drain(events <-chan string) []string {
	var names []string
	for len(events) > 0 {
		names = append(names, <-events)
	}
	return names
}

func TestFleet_StartsTheNextProviderAfterThePreviousHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, before, after := newFleet(t, byNamespace), fake.New(), fake.New()
		events := watch(t, f)
		setDriver(t, f, "vc", before)
		release := before.Block()
		req := newRequest("vc", "vm")
		r, err := f.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
		if err != nil || r.Ended == nil {
			t.Fatalf("result %+v, error %v, want a create", r, err)
		}
		var replaced sync.WaitGroup
		replaced.Go(func() { setDriver(t, f, "vc", after) })
		synctest.Wait()
		if f.Known("vc") || f.Known("none") {
			t.Error("a vCenter is known while its provider is replaced")
		}
		if members, known := f.Members(); known || len(members) != 0 {
			t.Errorf("%d members, known %t, while an operation of the previous provider runs", len(members), known)
		}
		if _, err := f.CreateOrUpdateVirtualMachineAsync(t.Context(), req); !errors.Is(err, provider.ErrUnknownState) {
			t.Errorf("reconcile while the provider is replaced: %v, want ErrUnknownState", err)
		}
		drain(events)
		release()
		replaced.Wait()
		synctest.Wait()
		if got := drain(events); len(got) == 0 {
			t.Error("no event for the VM that waits")
		}
		if r, err = f.CreateOrUpdateVirtualMachineAsync(t.Context(), req); err != nil || r.Ended == nil {
			t.Fatalf("result %+v, error %v, want a create by the next provider", r, err)
		}
		<-r.Ended
		if len(after.VMs()) != 1 {
			t.Errorf("the next provider has %d VMs, want 1", len(after.VMs()))
		}
	})
}

func TestFleet_EndsAfterItsMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet.New[*member](func(*vmv1alpha1.VirtualMachine) string { return "vc" }, placement.New(placement.Options{}))
		m := &member{ending: make(chan struct{})}
		open := func() (*member, error) { return m, nil }
		if err := f.Use(t.Context(), "vc", open); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Run(ctx); close(ended) }()
		cancel()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the fleet ended before its member")
		default:
		}
		close(m.ending)
		<-ended
		if err := f.Use(t.Context(), "vc", func() (*member, error) { t.Error("opened after the end of Run"); return m, nil }); err != nil {
			t.Error(err)
		}
	})
}

func TestFleet_HasNoMemberIfOpenFails(t *testing.T) {
	f, d := newFleet(t, byNamespace), fake.New()
	setDriver(t, f, "vc", d)
	bad := errors.New("bad")
	if err := f.Use(t.Context(), "vc", func() (*engine.Engine, error) { return nil, bad }); !errors.Is(err, bad) {
		t.Errorf("error %v", err)
	}
	if members, known := f.Members(); len(members) != 0 || !known || !f.Known("vc") {
		t.Errorf("%d members, known %t, want none", len(members), known)
	}
	f.Forget(types.NamespacedName{Namespace: "vc", Name: "vm"})
}

// When the server starts, IsUnread is called for thousands of existing VMs. An event for each of them would cause a
// reconcile that only returns ErrUnknownState.
func TestFleet_SendsNoEventForUnreadVMs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := fleet.New[*member](byNamespace, placement.New(placement.Options{}))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { f.Run(ctx); close(ended) }()
		events := make(chan string, 100)
		go f.Watch(ctx, func(h provider.Event) { events <- h.Key.Name })
		old, read := newRequest("vc", "old"), newRequest("vc", "read")
		if !f.IsUnread(old.VM) || !f.IsUnread(read.VM) {
			t.Error("IsUnread = false for a VM of an unknown vCenter")
		}
		m := &member{ending: make(chan struct{}), unread: "old"}
		if err := f.Use(ctx, "vc", func() (*member, error) { return m, nil }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := drain(events); len(got) != 1 || got[0] != "read" {
			t.Errorf("events for %v, want read", got)
		}
		close(m.ending)
		cancel()
		<-ended
	})
}

// member is a provider whose Run returns after ending is closed. It has not read the virtual machine called unread.
type member struct {
	provider.Publisher
	provider.Snapshotter
	provider.Provider
	ending chan struct{}
	unread string
}

func (m *member) IsUnread(vm *vmv1alpha1.VirtualMachine) bool { return vm.Name == m.unread }

func (m *member) Run(ctx context.Context) { <-ctx.Done(); <-m.ending }

func (m *member) Watch(ctx context.Context, _ func(provider.Event)) { <-ctx.Done() }

func TestFleet_PublishesOnlyInTheVCenterOfTheVM(t *testing.T) {
	f, one := newFleet(t, byNamespace), fake.New()
	setDriver(t, f, "one", one)
	req := newRequest("one", "vm")
	r, err := f.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	<-r.Ended
	pub := &provider.Publication{NamespacedName: types.NamespacedName{Namespace: "one", Name: "now"}, UID: "u", Source: provider.KeyOf(req.VM).NamespacedName, VM: req.VM, VCenter: "two"}
	_, err = f.Publish(t.Context(), pub)
	var refused *provider.PublishRefusedError
	if !errors.As(err, &refused) || refused.Condition != vmv1alpha1.ConditionTargetValid {
		t.Errorf("publishing in another vCenter: %v, want TargetValid", err)
	}
	if err := f.Withdraw(t.Context(), pub); !errors.Is(err, provider.ErrNotInUse) {
		t.Errorf("withdrawing from an unknown vCenter: %v", err)
	}
	pub.VCenter = "one"
	if _, err = f.Publish(t.Context(), pub); !errors.Is(err, provider.ErrReconcileInProgress) {
		t.Errorf("publishing in its own vCenter: %v, want ErrReconcileInProgress", err)
	}
	f.ForgetPublication(pub.NamespacedName)
}
