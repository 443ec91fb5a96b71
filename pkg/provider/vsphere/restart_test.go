// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/test/simulated"
	"github.com/slipway-dev/slipway/test/vcenter"
)

// served returns how many calls of a method vCenter has served, for all clients.
func served(t *testing.T, ready vcenter.Ready, method string) int {
	t.Helper()
	calls := map[string]int{}
	if err := json.Unmarshal(simulated.Control(t, ready, http.MethodGet, "/calls"), &calls); err != nil {
		t.Fatal(err)
	}
	return calls[method]
}

// killAfterCall stops a process after a call of a method.
type killAfterCall struct {
	method   string
	released chan struct{}

	mu     sync.Mutex
	killed bool
}

func (d *killAfterCall) call(method string) {
	d.mu.Lock()
	killed := d.killed
	d.killed = killed || method == d.method
	d.mu.Unlock()
	if killed {
		<-d.released
	}
}

func requestRestart(req *provider.Request, mode vmv1alpha1.PowerOpMode) {
	req.VM.Spec.RestartMode = mode
	req.VM.Spec.NextRestartTime = time.Now().UTC().Format(time.RFC3339Nano)
}

func TestRestart_HappensOnceWhenTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	killer := &killAfterCall{method: "ResetVM_Task", released: make(chan struct{})}
	first := newProvider(t, settings{Config: Config{
		URL: ready.URL, CAFile: ready.CAFile, Credentials: credentials,
		Datastore: "LocalDS_0", Network: "VM Network", Folder: "/DC0/vm/slipway", OnCall: killer.call,
	}})
	stop := run(t, first)
	t.Cleanup(func() { close(killer.released); stop() })
	l := newLoop(t, first)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", isRunning(req), req)
	requestRestart(req, vmv1alpha1.PowerOpModeHard)
	req.Now = time.Now()
	if ch, err := first.CreateOrUpdateVirtualMachineAsync(t.Context(), req); ch == nil {
		t.Fatalf("no restart operation was started: %v", err)
	}
	eventually(t, "vCenter resets the VM", func() bool { return served(t, ready, "ResetVM_Task") == 1 })

	second, _ := startProvider(t, ready, nil)
	l = newLoop(t, second)
	l.until("the restart is completed", func() bool {
		return req.VM.Status.LastRestartTime != nil && isTrue(&req.VM.Status, vmv1alpha1.ConditionPowerStateSynced) && isRunning(req)()
	}, req)
	if n := served(t, ready, "ResetVM_Task"); n != 1 {
		t.Errorf("vCenter has reset the VM %d times, want once", n)
	}
}

func TestRestart_IsRetriedIfVSphereRefusesIt(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	req.VM.Spec.PowerState = vmv1alpha1.PoweredOff
	st := &req.VM.Status
	l.until("the VM is off", func() bool { return isTrue(st, vmv1alpha1.ConditionPowerStateSynced) }, req)

	// The plan was computed while the VM was running.
	record := func() machine { return p.driver.machine(p.record(st.UniqueID, st.InstanceUUID)) }
	op := record().Restart(driver.Restart{Requested: time.Now(), Mode: vmv1alpha1.PowerOpModeHard})
	if err := op.Run(t.Context()); err == nil {
		t.Fatal("resetting a powered-off VM succeeded")
	}
	if last := record().Observe(&driver.Desired{}).LastRestart; last != nil {
		t.Errorf("the VM has a record of the refused restart at %s", last)
	}
	if n := counted.snapshot()["ResetVM_Task"]; n != 1 {
		t.Errorf("ResetVM_Task was called %d times, want once", n)
	}
}
