// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
)

// DeleteVirtualMachine implements provider.Provider.
func (e *Engine) DeleteVirtualMachine(ctx context.Context, req *provider.Request) (provider.Result, error) {
	p := e.newReconciliation(req)
	defer e.returnUnusedOffers(p.key)
	err := p.remove(ctx, e.driver.Observe(p.desired.Identity))
	if err == nil {
		e.forget(p.key)
	}
	return p.Result, err
}

// remove performs the next step of a deletion. It returns nil if nothing is left.
func (p *reconciliation) remove(ctx context.Context, s driver.Observed) error {
	how := deletePowerOff(p.req.VM, plan.Grace(p.desired))
	switch run := p.state.running; {
	case p.state.deleted:
		return nil
	case p.outageErr != nil:
		return p.reportUnreachableDeletion()
	case run != nil:
		if isInterruptible(&run.op, how) {
			p.engine.interrupt(p.key, run)
		}
		return provider.ErrReconcileInProgress
	}
	p.recordObserved(s.State)
	switch s.State {
	case driver.Unknown:
		return p.reportUnknown(s)
	case driver.Absent:
		return p.removeAbsent(ctx, s.Copies)
	case driver.Exists:
	}
	if s.Ownership != driver.Own {
		klog.FromContext(ctx).Info("The object refers to a vSphere VM that it does not own; the VM is not deleted",
			"virtualMachine", klog.KRef(p.key.Namespace, p.key.Name), "vm", s.Machine.Observe(p.desired).UniqueID)
		p.Observation = &provider.Observation{} // so that no deletion of the VM is reported
		return nil
	}
	return p.removeMachine(ctx, s.Machine, how)
}

// removeAbsent lets the object be deleted if the hypervisor confirms that its virtual machine does not exist. A virtual
// machine that existed may only be invisible. It has the grace period to reappear, unless the hypervisor knows that it
// was destroyed, for example by a process that was killed. If there are copies, an administrator must decide, because
// one of them may be the virtual machine.
func (p *reconciliation) removeAbsent(ctx context.Context, copies []string) error {
	if proved, err := p.confirmAbsence(ctx, copies); !proved {
		return err
	}
	if !hasExisted(p.req.VM) || p.state.absence.destroyed {
		return p.removeLeftovers(ctx)
	}
	what := fmt.Sprintf("VM %s is no longer visible in vSphere", p.desired.Identity.UniqueID)
	if p.engine.recordMissing(p.key, p.req.VM) {
		p.reportManyMissing(what)
		return &provider.RequeueError{After: recheckInterval, Reason: "many virtual machines are missing"}
	}
	if !isConfirmedDeleted(p.req.VM) && p.reportCopies(what, copies) {
		return &provider.RequeueError{After: recheckInterval, Reason: "a vSphere VM with the same identity may be this VM. To delete the object and keep that VM, set the annotation " +
			vmv1alpha1.AnnotationConfirmedMissing + "=" + p.desired.Identity.UniqueID}
	}
	if remaining := p.remainingGrace(); remaining > 0 && !isConfirmedDeleted(p.req.VM) {
		p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonMissing, what+
			fmt.Sprintf("; the object is deleted if the VM does not reappear within %s", p.engine.opts.MissingGrace))
		return &provider.RequeueError{After: remaining, Reason: "a missing virtual machine may reappear"}
	}
	return nil
}

// removeLeftovers removes the files of earlier creates if the virtual machine never existed or is known to be
// destroyed. In other cases the files may be in use.
func (p *reconciliation) removeLeftovers(ctx context.Context) error {
	if !p.desired.Identity.HasCopiedDisks {
		return nil
	}
	if _, many := p.engine.Missing(); many {
		return &provider.RequeueError{After: recheckInterval, Reason: "many virtual machines are missing; no files are removed until they reappear"}
	}
	op := p.markDeletedAfter(p.engine.driver.RemoveLeftovers(p.desired.Identity))
	if hold := p.state.outcomes.HoldFor(op, p.req.Now); hold != nil {
		return &provider.RequeueError{After: hold.Wait, Reason: "the last attempt to remove files of earlier creates failed: " + hold.Message}
	}
	if err := p.start(ctx, op); err != nil {
		return err
	}
	return provider.ErrReconcileInProgress
}

// removeMachine powers off and destroys the virtual machine. If its managed object ID has changed, the new ID is first
// written to status, so that another process searches for the right VM.
func (p *reconciliation) removeMachine(ctx context.Context, m driver.Machine, how powerOff) error {
	observed := m.Observe(p.desired)
	if hasExisted(p.req.VM) && observed.Readable && observed.UniqueID != p.req.VM.Status.UniqueID {
		p.Observation = &observed
		return &provider.RequeueError{Reason: "the new managed object ID is written to status before the VM is destroyed"}
	}
	_, unregister := p.req.VM.Annotations[vmv1alpha1.AnnotationUnregister]
	var op driver.Operation
	switch {
	case observed.Paused:
		return provider.ErrPaused
	case p.engine.isDeletionBlocked(p.req.VM):
		return &provider.RequeueError{After: recheckInterval, Reason: "many other virtual machines are missing, so none is deleted until they reappear. To delete this one, set the annotation " +
			vmv1alpha1.AnnotationConfirmedMissing + "=" + p.desired.Identity.UniqueID}
	case unregister && (observed.Orphaned || !observed.Readable):
		op = p.markDeletedAfter(m.Unregister(p.desired.Identity))
	case observed.Trouble != "":
		return &provider.NoRequeueError{Err: errors.New(observed.Trouble)}
	case observed.PowerState == vmv1alpha1.PoweredOn:
		op = how.operation(m)
	default:
		op = p.markDeletedAfter(m.Destroy(p.desired.Identity))
	}
	if observed.DependentDisks > 0 {
		op = p.stopPromotionIfBusy(op, m)
	}
	if hold := p.state.outcomes.HoldFor(op, p.req.Now); hold != nil {
		return &provider.RequeueError{After: hold.Wait, Reason: "the last attempt to " + string(op.Kind) + ": " + hold.Message}
	}
	if err := p.start(ctx, op); err != nil {
		return err
	}
	return provider.ErrReconcileInProgress
}

// stopPromotionIfBusy returns op with a retry: if a promotion by an earlier process makes the VM busy, the promotion is
// stopped and op runs again.
func (p *reconciliation) stopPromotionIfBusy(op driver.Operation, m driver.Machine) driver.Operation {
	run := op.Run
	op.Run = func(ctx context.Context) error {
		err := run(ctx)
		if err == nil || p.engine.driver.Classify(err) != driver.Busy {
			return err
		}
		if err := m.StopPromotion(ctx, err); err != nil {
			return err
		}
		return run(ctx)
	}
	return op
}

// markDeletedAfter returns op so that its success marks the virtual machine as deleted.
func (p *reconciliation) markDeletedAfter(op driver.Operation) driver.Operation {
	run := op.Run
	op.Run = func(ctx context.Context) error {
		if err := run(ctx); err != nil {
			return err
		}
		p.engine.updateState(p.key, p.uid(), func(r *objectState) { r.deleted = true })
		return nil
	}
	return op
}

// isDeletionBlocked reports whether the circuit breaker for mass disappearance prevents the deletion of a virtual
// machine that existed.
func (e *Engine) isDeletionBlocked(vm *vmv1alpha1.VirtualMachine) bool {
	managed := e.driver.CountOwned()
	e.mu.Lock()
	defer e.mu.Unlock()
	return hasExisted(vm) && !isConfirmedDeleted(vm) && e.breaker.isTripped(e.opts.Now(), managed)
}

// isInterruptible reports whether a deletion interrupts the operation. It interrupts publications, promotions and waits
// for a guest, but not a power off of the same kind as its own. It waits for creates, because a cancelled deployment
// may still complete later. An interrupted publication leaves nothing behind.
func isInterruptible(op *driver.Operation, how powerOff) bool {
	return op.Kind == driver.KindPublish || op.Kind == driver.KindPromote || op.WaitsForGuest && (op.Kind != driver.KindPowerOff || op.Detail != how.detail())
}

// powerOff describes how a virtual machine is powered off before its deletion.
type powerOff struct {
	mode vmv1alpha1.PowerOpMode
	// grace limits the wait for the guest; 0 means the driver's default.
	grace time.Duration
	// own is true if grace is from spec.deletion.
	own bool
}

// deletePowerOff returns the power off mode and the grace period from spec.deletion. The defaults are spec.powerOffMode
// and grace. Soft becomes TrySoft, so that a guest that does not respond cannot block the deletion permanently.
func deletePowerOff(vm *vmv1alpha1.VirtualMachine, grace time.Duration) powerOff {
	how := powerOff{mode: vm.Spec.PowerOffMode, grace: grace}
	if d := vm.Spec.Deletion; d != nil {
		how.mode = cmp.Or(d.PowerOffMode, how.mode)
		if d.TimeoutSeconds > 0 {
			how.grace, how.own = time.Duration(d.TimeoutSeconds)*time.Second, true
		}
	}
	if how.mode != vmv1alpha1.PowerOpModeHard {
		how.mode = vmv1alpha1.PowerOpModeTrySoft
	}
	return how
}

// detail identifies a power off in outcomes. A grace period in spec.deletion is part of it, so that a shorter one takes
// effect immediately.
func (h powerOff) detail() string {
	if h.own && h.mode != vmv1alpha1.PowerOpModeHard {
		return string(h.mode) + " within " + h.grace.String()
	}
	return string(h.mode)
}

func (h powerOff) operation(m driver.Machine) driver.Operation {
	op := m.PowerOff(h.mode, h.grace)
	op.Detail = h.detail()
	return op
}
