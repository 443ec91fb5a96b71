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

// interleavingDriver calls between once, after an observation and before the reconcile acts on it.
type interleavingDriver struct {
	*fake.Driver
	between func()
}

func (d *interleavingDriver) Observe(id driver.Identity) driver.Observed {
	s := d.Driver.Observe(id)
	if between := d.between; between != nil {
		d.between = nil
		between()
	}
	return s
}

// The reconcile has read the state, and no operation runs. Then a snapshot starts before the reconcile starts its
// own operation.
func TestOperation_DoesNotStartIfAnotherStartedDuringTheReconcile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &interleavingDriver{Driver: fake.New()}
		e := engine.New(engine.Options{Driver: d})
		run(t, e)
		synctest.Wait()
		s := &testSetup{t: t, Engine: e, driver: d.Driver}
		req := s.runningVM("vm")
		release := d.Block()
		req.VM.Spec.PowerState, req.VM.Spec.PowerOffMode = vmv1alpha1.PoweredOff, vmv1alpha1.PowerOpModeHard
		d.between = func() {
			if _, err := s.Snapshot(t.Context(), snapshotOf(req, "now")); !errors.Is(err, provider.ErrReconcileInProgress) {
				t.Fatalf("the snapshot: error %v, want ErrReconcileInProgress", err)
			}
		}
		if r, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync); r.Started != "" || !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("the reconcile started %q, error %v; want no operation and ErrReconcileInProgress", r.Started, err)
		}
		release()
		if err := s.reconcile(req); err != nil || d.OperationCount(driver.KindSnapshot) != 1 || d.OperationCount(driver.KindPowerOff) != 1 {
			t.Errorf("error %v, %d snapshots, %d power offs; want one each", err, d.OperationCount(driver.KindSnapshot), d.OperationCount(driver.KindPowerOff))
		}
	})
}

// The reconcile has observed the guest before a restart that has ended when the reconcile acts.
func TestRestart_IsNotRepeatedByAReconcileThatStartedBeforeItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &interleavingDriver{Driver: fake.New()}
		e := engine.New(engine.Options{Driver: d})
		run(t, e)
		synctest.Wait()
		s := &testSetup{t: t, Engine: e, driver: d.Driver}
		req := s.runningVM("vm")
		release := d.Block()
		req.VM.Spec.NextRestartTime = time.Now().Format(time.RFC3339Nano)
		if r, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync); r.Started != string(driver.KindRestart) {
			t.Fatalf("started %q, error %v; want a restart", r.Started, err)
		}
		d.between = func() { release(); synctest.Wait() }
		if r, err := s.reconcileOnce(req, s.CreateOrUpdateVirtualMachineAsync); r.Started != "" || !errors.Is(err, provider.ErrReconcileInProgress) {
			t.Errorf("the late reconcile started %q, error %v; want no operation and ErrReconcileInProgress", r.Started, err)
		}
		if err := s.reconcile(req); err != nil || d.OperationCount(driver.KindRestart) != 1 {
			t.Errorf("error %v, %d restarts; want only the requested restart", err, d.OperationCount(driver.KindRestart))
		}
	})
}
