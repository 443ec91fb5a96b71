// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"time"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/controller/vm/owner"
	"github.com/slipway-dev/slipway/pkg/controller/vm/revert"
	"github.com/slipway-dev/slipway/pkg/controller/vm/step"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// pass is one reconcile of one virtual machine: what is known of it, and what its steps have reported so far. It lives
// on the stack of one worker.
type pass struct {
	step.State
	step.Report
	// owner is what is known of the Machine whose infrastructure the virtual machine is, nil
	// for none.
	owner *owner.Facts
	// captured are the revisions that the status names only since this pass.
	captured []*itv1alpha1.ControllerRevision
	// restoring is true when the object was made what it was at a snapshot.
	restoring bool
}

func newPass(original *vmv1alpha1.VirtualMachine, now time.Time) *pass {
	p := &pass{State: step.State{Stored: original, VM: original.DeepCopy(), Now: now}}
	p.observe(provider.Result{})
	return p
}

// shown is the virtual machine with the conditions that were reported so far, as the provider gets it.
func (p *pass) shown() *vmv1alpha1.VirtualMachine {
	vm := *p.VM
	vm.Status.Conditions = p.Merge(p.VM, p.Now)
	return &vm
}

// observe takes over an answer of the provider.
func (p *pass) observe(result provider.Result) {
	p.AddResult(&result)
	all := p.Merge(p.VM, p.Now)
	p.Observed = step.Observed{
		Result: result, Created: conditions.IsTrue(all, vmv1alpha1.ConditionCreated),
		Configured: conditions.IsTrue(all, vmv1alpha1.ConditionConfigurationSynced), Reverting: revert.Begun(all),
	}
	result.Conditions, result.Withdrawn = nil, nil
	result.Apply(&p.VM.Status, p.VM.Generation, p.Now)
}

// take takes over the report of a step.
func (p *pass) take(report step.Report, err error) error {
	p.Add(report)
	return err
}

// merge writes the conditions that the steps have reported.
func (p *pass) merge() {
	if len(p.Conditions) > 0 {
		p.VM.Status.Conditions, p.Conditions = p.Merge(p.VM, p.Now), nil
		summarize(p.VM)
	}
}
