// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// vsphere simulates vSphere. Every operation takes a second and ends with an event.
type vsphere struct {
	provider.Provider
	mu    sync.Mutex
	state map[string]*machine
	hint  func(provider.Event)
	// calls is the number of calls except deletions.
	calls int
}

type machine struct {
	busy, on bool
	ip       string
}

func (v *vsphere) Watch(ctx context.Context, changed func(provider.Event)) {
	v.mu.Lock()
	v.hint = changed
	v.mu.Unlock()
	<-ctx.Done()
}

func (v *vsphere) CreateOrUpdateVirtualMachineAsync(_ context.Context, req *provider.Request) (provider.Result, error) {
	return resultOf(req, v.update)
}

func (v *vsphere) update(req *provider.Request) (<-chan error, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.calls++
	m := v.state[req.VM.Name]
	if m != nil && m.busy {
		return nil, provider.ErrReconcileInProgress
	}
	if m == nil {
		if !req.CanStartCreate {
			return nil, nil
		}
		setFalse(req.VM, req.Now, vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "")
		return v.start(req.VM, func(m *machine) {}), nil
	}
	s := &req.VM.Status
	setTrue(req.VM, req.Now, vmv1alpha1.ConditionCreated)
	setTrue(req.VM, req.Now, vmv1alpha1.ConditionConfigurationSynced)
	setTrue(req.VM, req.Now, vmv1alpha1.ConditionDiskPromotionSynced)
	s.PowerState, s.Network = vmv1alpha1.PoweredOff, nil
	if m.on {
		s.PowerState, s.Network = vmv1alpha1.PoweredOn, &vmv1alpha1.VirtualMachineNetworkStatus{PrimaryIP4: m.ip}
	}
	if on := req.VM.DesiredPowerState(req.VM.Status.PowerState) == vmv1alpha1.PoweredOn; on != m.on {
		return v.start(req.VM, func(m *machine) {
			m.on, m.ip = on, ""
			if on {
				m.ip = "192.0.2.7"
			}
		}), nil
	}
	return nil, nil
}

// start runs an operation on a virtual machine.
func (v *vsphere) start(vm *vmv1alpha1.VirtualMachine, effect func(*machine)) <-chan error {
	m := v.state[vm.Name]
	if m == nil {
		m = &machine{}
		v.state[vm.Name] = m
	}
	m.busy = true
	end := make(chan error, 1)
	key := controller.KeyOf(vm)
	go func() {
		<-time.After(time.Second)
		v.mu.Lock()
		m.busy = false
		effect(m)
		hint := v.hint
		v.mu.Unlock()
		close(end)
		hint(provider.Event{Key: provider.VirtualMachineKey(key)})
	}()
	return end
}

func (*vsphere) Forget(types.NamespacedName) {}

func (v *vsphere) DeleteVirtualMachine(_ context.Context, req *provider.Request) (provider.Result, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if m := v.state[req.VM.Name]; m != nil && m.busy {
		return provider.Result{}, provider.ErrReconcileInProgress
	}
	delete(v.state, req.VM.Name)
	return provider.Result{}, nil
}

func TestController_ReconcilesAVMByEventsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &vsphere{state: map[string]*machine{}}
		a := assembleWith(t, v, photon())
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- a.Run(ctx) }()
		synctest.Wait()

		vms := a.api.VmV1alpha1().VirtualMachines("ns")
		if _, err := vms.Create(ctx, fresh(func(vm *vmv1alpha1.VirtualMachine) { vm.UID = "" }), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle := func() {
			<-time.After(5 * time.Second) // much less than the resync period
			synctest.Wait()
		}
		settle()
		vm := a.api.vm("vm")
		if vm.Status.Phase != vmv1alpha1.PhaseRunning || !isTrue(vm, vmv1alpha1.ConditionReady) {
			t.Fatalf("phase %s and conditions %v, want Running and Ready", vm.Status.Phase, vm.Status.Conditions)
		}
		if a.api.vmi("vm") == nil {
			t.Error("the instance does not exist")
		}
		if got := a.api.writes(); got != 3 {
			t.Errorf("%d writes of the virtual machine, want 3: being created, created, running", got)
		}
		if v.calls != 3 {
			t.Errorf("%d reconciles, want 3: to create, to power on, and to observe that it runs", v.calls)
		}

		vm.Spec.PowerState = vmv1alpha1.PoweredOff
		if _, err := vms.Update(ctx, vm, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		settle()
		if got := a.api.vm("vm").Status.Phase; got != vmv1alpha1.PhaseStopped || a.api.vmi("vm") != nil {
			t.Errorf("phase %s, want Stopped and no instance", got)
		}

		a.api.markDeleted("vm")
		settle()
		if a.api.vm("vm") != nil || len(v.state) != 0 {
			t.Errorf("the object or the vSphere VM still exists: %v", v.state)
		}
		cancel()
		if err := <-ran; err != nil {
			t.Errorf("Run returned %v, want nil", err)
		}
		a.deps.Informers.Shutdown()

		var reasons []string
		for _, line := range a.events.take() {
			kind, rest, _ := strings.Cut(line, " ")
			reason, _, _ := strings.Cut(rest, ":")
			if kind != "Normal" {
				t.Errorf("event %q, want no warning", line)
			}
			reasons = append(reasons, reason)
		}
		if got := strings.Join(reasons, " "); got != "Created PoweredOn PoweredOff Deleted" {
			t.Errorf("events %q, want Created PoweredOn PoweredOff Deleted", got)
		}
	})
}

func TestNew_ListsMissingDependencies(t *testing.T) {
	if _, err := New(Deps{}); err == nil {
		t.Error("a controller without dependencies was created")
	}
}
