// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/update"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// served returns how often vCenter has served a method, for whomever.
func served(t *testing.T, ready vcenter.Ready, method string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ready.ControlURL+"/calls", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	calls := map[string]int{}
	if err := json.NewDecoder(res.Body).Decode(&calls); err != nil {
		t.Fatal(err)
	}
	return calls[method]
}

// dying lets a process send nothing more after a call of method.
type dying struct {
	method string
	frozen chan struct{}

	mu   sync.Mutex
	dead bool
}

func (d *dying) call(method string) {
	d.mu.Lock()
	dead := d.dead
	d.dead = dead || method == d.method
	d.mu.Unlock()
	if dead {
		<-d.frozen
	}
}

func askForRestart(req *provider.Request, mode vmv1alpha1.PowerOpMode) {
	req.VM.Spec.RestartMode = mode
	req.VM.Spec.NextRestartTime = time.Now().UTC().Format(time.RFC3339Nano)
}

func TestAProcessThatDiesAfterARebootDoesNotRebootTwice(t *testing.T) {
	ready := startVCenter(t)
	death := &dying{method: "ResetVM_Task", frozen: make(chan struct{})}
	first, err := New(Config{
		URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
		Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", OnCall: death.call,
	})
	if err != nil {
		t.Fatal(err)
	}
	stop := run(t, first)
	t.Cleanup(func() { close(death.frozen); stop() })
	l := newLoop(t, first)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", running(req), req)
	askForRestart(req, vmv1alpha1.PowerOpModeHard)
	req.Now = time.Now()
	if ch, err := first.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch == nil {
		t.Fatalf("no restart was started: %v", err)
	}
	eventually(t, "vCenter resets the VM", func() bool { return served(t, ready, "ResetVM_Task") == 1 })

	second, _ := startProvider(t, ready, nil)
	l = newLoop(t, second)
	l.until("the restart is done", func() bool {
		return req.VM.Status.LastRestartTime != nil && isTrue(&req.VM.Status, vmv1alpha1.ConditionPowerStateSynced) && running(req)()
	}, req)
	if n := served(t, ready, "ResetVM_Task"); n != 1 {
		t.Errorf("vCenter has reset the VM %d times, want once", n)
	}
}

func TestARestartThatVSphereRefusedIsStillToBeDone(t *testing.T) {
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	st := &req.VM.Status
	l.until("the VM is off", func() bool { return isTrue(st, vmv1alpha1.ConditionPowerStateSynced) }, req)

	// The plan is of a moment ago, when the VM ran.
	askForRestart(req, vmv1alpha1.PowerOpModeHard)
	in := p.input(req, p.inventory.Get(types.ManagedObjectReference{Type: "VirtualMachine", Value: st.UniqueID}))
	in.Facts.PowerState, in.Now = vmv1alpha1.PoweredOn, time.Now()
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOn
	_, op, err := update.Plan(in)
	if err != nil || op == nil || op.Kind != operation.Restart {
		t.Fatalf("Plan = %+v, %v; want a restart", op, err)
	}
	if err := p.execute(t.Context(), in.Observed.Self, op); err == nil {
		t.Fatal("resetting a VM that is off succeeded")
	}
	vm, _ := p.inventory.Find(st.UniqueID, st.InstanceUUID)
	if last := p.input(req, vm).Facts.LastRestart; last != nil {
		t.Errorf("the VM remembers a restart at %s that was refused", last)
	}
	if n := counted.snapshot()["ResetVM_Task"]; n != 1 {
		t.Errorf("ResetVM_Task was called %d times, want once", n)
	}
}

func TestAnotherPowerStateEndsTheWaitOfARestart(t *testing.T) {
	ready := startVCenter(t)
	p, _ := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", running(req), req)
	// A guest that was asked to shut down, for a restart, and does not.
	waiting := operation.Info{Kind: operation.Restart, Detail: string(vmv1alpha1.PowerOpModeSoft)}
	silent, err := p.ops.Start(t.Context(), keyOf(req), waiting, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	askForRestart(req, vmv1alpha1.PowerOpModeSoft)
	req.Now = time.Now()
	if _, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req); !errors.Is(err, provider.ErrReconcileInProgress) {
		t.Errorf("pass while the guest is asked = %v, want ErrReconcileInProgress", err)
	}
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	l.until("the VM is off", func() bool { return req.VM.Status.PowerState == vmv1alpha1.PoweredOff }, req)
	if err := <-silent; !errors.Is(err, context.Canceled) {
		t.Errorf("the wait for the guest ended with %v, want it cancelled", err)
	}
}

func TestAnOperationIsOutdatedWhenSomethingElseIsWanted(t *testing.T) {
	const hard, soft = vmv1alpha1.PowerOpModeHard, vmv1alpha1.PowerOpModeSoft
	on, off, suspended := vmv1alpha1.PoweredOn, vmv1alpha1.PoweredOff, vmv1alpha1.Suspended
	for _, tc := range []struct {
		name    string
		kind    operation.Kind
		mode    vmv1alpha1.PowerOpMode
		desired vmv1alpha1.PowerState
		spec    vmv1alpha1.PowerOpMode
		want    bool
	}{
		{"power off", operation.PowerOff, soft, off, soft, false},
		{"power off, on again", operation.PowerOff, soft, on, soft, true},
		{"power off, on by default", operation.PowerOff, soft, "", soft, true},
		{"power off, now hard", operation.PowerOff, soft, off, hard, true},
		{"hard power off", operation.PowerOff, hard, off, hard, false},
		{"suspend", operation.Suspend, soft, suspended, soft, false},
		{"suspend, off instead", operation.Suspend, soft, off, soft, true},
		{"suspend, now hard", operation.Suspend, soft, suspended, hard, true},
		{"restart", operation.Restart, soft, on, soft, false},
		{"restart, on by default", operation.Restart, soft, "", soft, false},
		{"restart, off instead", operation.Restart, soft, off, soft, true},
		{"restart, suspended instead", operation.Restart, soft, suspended, soft, true},
		{"restart, now hard", operation.Restart, soft, on, hard, true},
		{"hard restart, off instead", operation.Restart, hard, off, hard, false},
		{"create", operation.Create, "", off, hard, false},
		{"power on", operation.PowerOn, "", off, hard, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			vm := &vmv1alpha1.VirtualMachine{Spec: vmv1alpha1.VirtualMachineSpec{
				PowerState: tc.desired, PowerOffMode: tc.spec, SuspendMode: tc.spec, RestartMode: tc.spec,
			}}
			if got := outdated(operation.Info{Kind: tc.kind, Detail: string(tc.mode)}, vm); got != tc.want {
				t.Errorf("outdated = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestADeleteThatAsksTheGuestIsMadeHard(t *testing.T) {
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", running(req), req)
	asked := make(chan struct{})
	_, err := p.ops.Start(t.Context(), keyOf(req), deletion(vmv1alpha1.PowerOpModeTrySoft), func(ctx context.Context) error {
		close(asked)
		<-ctx.Done() // The guest does not answer.
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	req.VM.Spec.PowerOffMode = vmv1alpha1.PowerOpModeTrySoft
	if err := p.DeleteVirtualMachine(t.Context(), req); !errors.Is(err, provider.ErrReconcileInProgress) {
		t.Errorf("delete while the guest is asked = %v, want ErrReconcileInProgress", err)
	}
	if _, busy := p.ops.Running(keyOf(req)); !busy {
		t.Error("a delete has ended another one that wants the same")
	}
	req.VM.Spec.PowerOffMode = vmv1alpha1.PowerOpModeHard
	l.remove(req)
	if n := counted.snapshot(); n["PowerOffVM_Task"] != 1 || n["ShutdownGuest"] != 0 {
		t.Errorf("calls = %v, want one PowerOffVM_Task", n)
	}
}
