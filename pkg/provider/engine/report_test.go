// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"testing"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/fake"
)

func TestReportVirtualMachine_StartsNoOperation(t *testing.T) {
	runInBubble(t, func(s *testSetup) {
		req := s.runningVM("vm")
		report := func() error {
			t.Helper()
			r, err := s.reconcileOnce(req, s.ReportVirtualMachine)
			if r.Ended != nil {
				t.Error("an operation was started")
			}
			return err
		}
		s.driver.Change(string(req.VM.UID), func(v *fake.VM) { v.PowerState = vmv1alpha1.PoweredOff }) // manually
		if err := report(); err != nil || req.VM.Status.PowerState != vmv1alpha1.PoweredOff {
			t.Errorf("error %v, power state %s; want PoweredOff reported", err, req.VM.Status.PowerState)
		}
		s.hide(req, true)
		if err := report(); err != nil || created(req) != "True Succeeded" || s.driver.CreatedCount() != 1 {
			t.Errorf("not visible: error %v, Created %s, %d created; want no change", err, created(req), s.driver.CreatedCount())
		}
		s.hide(req, false)
		s.driver.SetReadable(false)
		if err := report(); !errors.Is(err, provider.ErrUnknownState) {
			t.Errorf("not readable: %v, want ErrUnknownState", err)
		}
	})
}
