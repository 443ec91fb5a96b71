// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// A status may be lost, by a conflict for example. What was checked before a create is
// not checked again, so that the next pass has to say it too.
func TestOutcomeOfChecksOutlivesAStatusThatIsLost(t *testing.T) {
	p, _ := startProvider(t, startVCenter(t), nil)
	req := newRequest("forgetful", libraryImage())
	var before *vmv1alpha1.VirtualMachineStatus
	lost := false
	newLoop(t, p).until("a status that says Created was lost, and the VM runs", func() bool {
		st := &req.VM.Status
		if !meta.IsStatusConditionTrue(st.Conditions, vmv1alpha1.ConditionCreated) {
			before = st.DeepCopy()
			return false
		}
		if !lost {
			*st, lost = *before, true
			return false
		}
		return st.PowerState == vmv1alpha1.PoweredOn
	}, req)
	for _, kind := range []string{vmv1alpha1.ConditionStorageReady, vmv1alpha1.ConditionNetworkReady, vmv1alpha1.ConditionPlacementReady} {
		if !meta.IsStatusConditionTrue(req.VM.Status.Conditions, kind) {
			t.Errorf("%s is %+v, want True", kind, meta.FindStatusCondition(req.VM.Status.Conditions, kind))
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.reports); n > 1 {
		t.Errorf("%d reports are kept of one virtual machine", n)
	}
}
