// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"errors"
	"testing"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/update"
)

func TestAConfigurationThatFailsKeepsNoVMFromBeingSuspended(t *testing.T) {
	ready := startVCenter(t)
	p, counted := startProvider(t, ready, nil)
	l := newLoop(t, p)
	req := newRequest("web", libraryImage())
	l.until("the VM runs", running(req), req)
	st := &req.VM.Status

	req.Effective.CPU.Shares = &vmv1alpha1.Shares{Level: vmv1alpha1.SharesHigh}
	vm, _ := p.inventory.Find(st.UniqueID, st.InstanceUUID)
	req.Now = time.Now()
	_, op, err := update.Plan(p.input(req, vm))
	if err != nil || op == nil || op.Kind != operation.Reconfigure {
		t.Fatalf("Plan = %+v, %v; want a reconfiguration", op, err)
	}
	p.attempts.started(keyOf(req), fingerprintOf(req, op))
	p.attempts.ended(keyOf(req), operation.Info{Kind: op.Kind}, errors.New("vSphere refused"))
	ch, err := p.CreateOrUpdateVirtualMachineAsync(t.Context(), req)
	if after, ok := provider.AsRequeue(err); ch != nil || !ok || after <= 0 || reason(st, vmv1alpha1.ConditionConfigurationSynced) != "False Error" {
		t.Errorf("pass = %v, ConfigurationSynced %s; want a pause and the failure", err, reason(st, vmv1alpha1.ConditionConfigurationSynced))
	}

	req.VM.Spec.PowerState, req.VM.Spec.SuspendMode = vmv1alpha1.Suspended, vmv1alpha1.PowerOpModeHard
	before := counted.snapshot()["ReconfigVM_Task"]
	l.until("the VM is suspended", func() bool { return st.PowerState == vmv1alpha1.Suspended }, req)
	if n := counted.snapshot()["ReconfigVM_Task"]; n != before {
		t.Errorf("the reconfiguration was repeated before its time")
	}
}
