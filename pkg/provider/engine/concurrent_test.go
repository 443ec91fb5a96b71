// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

// lateDriver calls between after an observation and before the reconcile acts on it.
type lateDriver struct {
	*fake.Driver
	between func()
}

func (d *lateDriver) Observe(id driver.Identity) driver.Observed {
	s := d.Driver.Observe(id)
	if between := d.between; between != nil {
		d.between = nil
		between()
	}
	return s
}

// The reconcile of the virtual machine has read that no operation runs. A snapshot starts before the reconcile starts
// its operation.
func TestOperation_DoesNotStartIfAnotherStartedDuringTheReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &lateDriver{Driver: fake.New()}
		e := engine.New(engine.Options{Driver: d})
		run(t, e)
		synctest.Wait()
		s := &scene{t: t, Engine: e, driver: d.Driver}
		req := s.running("vm")
		release := d.Block()
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
		d.between = func() {
			if _, err := s.Snapshot(t.Context(), snapshotOf(req, "now")); !errors.Is(err, provider.ErrReconcileInProgress) {
				t.Fatalf("the snapshot: error %v, want ErrReconcileInProgress", err)
			}
		}
		if r, err := s.once(req, s.CreateOrUpdateVirtualMachineAsync); r.Started != "" || !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("the reconcile started %q, error %v; want no operation and ErrReconcileInProgress", r.Started, err)
		}
		release()
		if err := s.reconcile(req); err != nil || d.OperationCount(driver.KindSnapshot) != 1 || d.OperationCount(driver.KindPowerOff) != 1 {
			t.Errorf("error %v, %d snapshots, %d power offs; want one each", err, d.OperationCount(driver.KindSnapshot), d.OperationCount(driver.KindPowerOff))
		}
	})
}

// The reconcile has observed the guest before its restart, and then finds that no operation runs.
func TestRestart_IsNotRepeatedByAReconcileThatBeganBeforeItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &lateDriver{Driver: fake.New()}
		e := engine.New(engine.Options{Driver: d})
		run(t, e)
		synctest.Wait()
		s := &scene{t: t, Engine: e, driver: d.Driver}
		req := s.running("vm")
		release := d.Block()
		req.VM.Spec.NextRestartTime = time.Now().Format(time.RFC3339Nano)
		if r, err := s.once(req, s.CreateOrUpdateVirtualMachineAsync); r.Started != string(driver.KindRestart) {
			t.Fatalf("started %q, error %v; want a restart", r.Started, err)
		}
		d.between = func() { release(); synctest.Wait() }
		if r, err := s.once(req, s.CreateOrUpdateVirtualMachineAsync); r.Started != "" || !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("the late reconcile started %q, error %v; want no operation and ErrReconcileInProgress", r.Started, err)
		}
		if err := s.reconcile(req); err != nil || d.OperationCount(driver.KindRestart) != 1 {
			t.Errorf("error %v, %d restarts; want only the requested restart", err, d.OperationCount(driver.KindRestart))
		}
	})
}
