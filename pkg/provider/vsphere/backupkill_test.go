// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// A backup is one reconfiguration. The process stops before the request, or before it receives the response.
func TestBackup_IsCompletedAfterTheProcessIsKilled(t *testing.T) {
	t.Parallel()
	ready := startVCenter(t)
	for name, step := range map[string]string{"not-asked": "ReconfigVM_Task", "not-answered": "answer.ReconfigVM_Task"} {
		t.Run(step, func(t *testing.T) {
			req := newRequest(name, templateImage())
			p, _ := startProvider(t, ready, nil)
			l := newLoop(t, p)
			l.until("the VM runs", isRunning(req), req)
			l.untilIdle(req)
			storedRecord(t, ready, req)
			req.VM.Generation, req.VM.Spec.PowerOffMode = req.VM.Generation+1, vmv1alpha1.PowerOpModeHard
			l = killAtStep(t, ready, req, step, func(p *Provider) {
				req.Now = time.Now()
				_, _ = p.CreateOrUpdateVirtualMachineAsync(t.Context(), req) // It blocks at the step.
			})
			l.until("the record is up to date", func() bool { return isTrue(&req.VM.Status, vmv1alpha1.ConditionBackupUpToDate) }, req)
			l.untilIdle(req)
			if got := storedRecord(t, ready, req); got.Generation != req.VM.Generation {
				t.Errorf("the record has generation %d, want %d", got.Generation, req.VM.Generation)
			}
			checkNoOperation(t, l.p, req)
			l.remove(req)
		})
	}
}
