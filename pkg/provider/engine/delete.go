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
	p := e.newPass(req)
	defer e.passed(p.key)
	err := p.remove(ctx, e.driver.Look(p.want.Identity))
	if err == nil {
		e.forget(p.key)
	}
	return p.Result, err
}

// remove takes the next step of a deletion; nil means that nothing is left.
func (p *pass) remove(ctx context.Context, s driver.Sighting) error {
	how := deleteMode(p.req.VM, plan.Grace(p.want))
	switch run := p.rec.running; {
	case p.rec.gone:
		return nil
	case p.lost != nil:
		return p.removalUnreachable()
	case run != nil:
		if interruptible(&run.op, how) {
			p.engine.interrupt(p.key, run)
		}
		return provider.ErrReconcileInProgress
	}
	p.seen(s.State)
	switch s.State {
	case driver.Unknown:
		return p.unknown(s)
	case driver.Absent:
		return p.removeAbsent(ctx, s.Copies)
	case driver.Exists:
	}
	if s.Ownership != driver.Own {
		klog.FromContext(ctx).Info("The object names a vSphere VM that is not its own, which is left in place",
			"virtualMachine", klog.KRef(p.key.Namespace, p.key.Name), "vm", s.Machine.Observe(p.want).UniqueID)
		p.Observation = &provider.Observation{} // so that nobody says of it that it is deleted
		return nil
	}
	return p.removeMachine(ctx, s.Machine, how)
}

// removeAbsent lets an object go whose virtual machine is not shown, when the
// hypervisor itself says that it has none. One that was there once may only be out of
// sight: then it has its time to come back, unless the hypervisor knows of its end, as
// when a process was killed that had destroyed it. One of which there are copies waits for an
// administrator, for one of them may be it.
func (p *pass) removeAbsent(ctx context.Context, copies []string) error {
	if proved, err := p.prove(ctx, copies); !proved {
		return err
	}
	if !wasThere(p.req.VM) || p.rec.absent.destroyed {
		return p.removeLeftovers(ctx)
	}
	what := fmt.Sprintf("vSphere does not show the VM %s any more", p.want.Identity.UniqueID)
	if p.engine.braked(p.key, p.req.VM) {
		p.manyMissing(what)
		return &provider.RequeueError{After: recheck, Reason: "many virtual machines are missing"}
	}
	if !confirmed(p.req.VM) && p.copyFound(what, copies) {
		return &provider.RequeueError{After: recheck, Reason: "a vSphere VM with the identity of this one may be it; the annotation " +
			vmv1alpha1.AnnotationConfirmedGone + "=" + p.want.Identity.UniqueID + " lets the object go without it"}
	}
	if rest := p.graceLeft(); rest > 0 && !confirmed(p.req.VM) {
		p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonMissing, what+
			fmt.Sprintf("; the object goes if it is not back %s after it was missed", p.engine.opts.MissingGrace))
		return &provider.RequeueError{After: rest, Reason: "a missing virtual machine may come back"}
	}
	return nil
}

// removeLeftovers removes what attempts to create a virtual machine have left that never was, or
// that is known to be destroyed: the files of any other may be in use.
func (p *pass) removeLeftovers(ctx context.Context) error {
	if !p.want.Identity.Copied {
		return nil
	}
	if _, many := p.engine.Missing(); many {
		return &provider.RequeueError{After: recheck, Reason: "many virtual machines are missing, so that no files are removed until they are back"}
	}
	op := p.ending(p.engine.driver.RemoveLeftovers(p.want.Identity))
	if hold := p.rec.last.Held(op, p.req.Now); hold != nil {
		return &provider.RequeueError{After: hold.Wait, Reason: "the last attempt to remove what creates have left: " + hold.Message}
	}
	if err := p.start(ctx, op); err != nil {
		return err
	}
	return provider.ErrReconcileInProgress
}

// removeMachine powers off and destroys. A VM that has another managed object ID than before is named
// by status first, so that another process looks for the end of the right one.
func (p *pass) removeMachine(ctx context.Context, m driver.Machine, how powerOff) error {
	observed := m.Observe(p.want)
	if wasThere(p.req.VM) && observed.Readable && observed.UniqueID != p.req.VM.Status.UniqueID {
		p.Observation = &observed
		return &provider.RequeueError{Reason: "status names the VM that it has become before that is destroyed"}
	}
	_, unregister := p.req.VM.Annotations[vmv1alpha1.AnnotationUnregister]
	var op driver.Operation
	switch {
	case observed.Paused:
		return provider.ErrPaused
	case p.engine.outage(p.req.VM):
		return &provider.RequeueError{After: recheck, Reason: "many other virtual machines are missing, so that none is deleted until they are back, or annotation " +
			vmv1alpha1.AnnotationConfirmedGone + "=" + p.want.Identity.UniqueID + " says that this one may go"}
	case unregister && (observed.Orphaned || !observed.Readable):
		op = p.ending(m.Unregister(p.want.Identity))
	case observed.Trouble != "":
		return &provider.NoRequeueError{Err: errors.New(observed.Trouble)}
	case observed.PowerState == vmv1alpha1.PoweredOn:
		op = how.operation(m)
	default:
		op = p.ending(m.Destroy(p.want.Identity))
	}
	if observed.Depending > 0 {
		op = p.unpromoted(op, m)
	}
	if hold := p.rec.last.Held(op, p.req.Now); hold != nil {
		return &provider.RequeueError{After: hold.Wait, Reason: "the last attempt to " + string(op.Kind) + ": " + hold.Message}
	}
	if err := p.start(ctx, op); err != nil {
		return err
	}
	return provider.ErrReconcileInProgress
}

// unpromoted makes op end a promotion that is in its way: one that an earlier process has
// begun.
func (p *pass) unpromoted(op driver.Operation, m driver.Machine) driver.Operation {
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

// ending makes the end of op the end of the virtual machine.
func (p *pass) ending(op driver.Operation) driver.Operation {
	run := op.Run
	op.Run = func(ctx context.Context) error {
		if err := run(ctx); err != nil {
			return err
		}
		p.engine.change(p.key, p.uid(), func(r *record) { r.gone = true })
		return nil
	}
	return op
}

// outage is true while so many virtual machines are missing that one which was there
// before it is not deleted either.
func (e *Engine) outage(vm *vmv1alpha1.VirtualMachine) bool {
	managed := e.driver.Managed()
	e.mu.Lock()
	defer e.mu.Unlock()
	return wasThere(vm) && !confirmed(vm) && e.brake.pulled(e.opts.Now(), managed)
}

// interruptible is true for what a deletion need not wait for: a promotion of disks that are
// to go, and the wait for a guest,
// but not a power off by the same means that the deletion wants itself. A create is
// awaited: a deployment that is cancelled may be carried out all the same after
// everybody has looked away. What is published leaves nothing behind.
func interruptible(op *driver.Operation, how powerOff) bool {
	return op.Kind == driver.KindPublish || op.Kind == driver.KindPromote || op.Asks && (op.Kind != driver.KindPowerOff || op.Detail != how.detail())
}

// powerOff is how a virtual machine that is being deleted is powered off.
type powerOff struct {
	mode vmv1alpha1.PowerOpMode
	// grace bounds the wait for the guest; 0 means the driver's default.
	grace time.Duration
	// own is true when spec.deletion gives the grace.
	own bool
}

// deleteMode decides it by spec.deletion, and by what holds for any power off, grace with it,
// where that says nothing. A guest that does not answer must not keep its virtual machine for
// ever, so that Soft becomes TrySoft.
func deleteMode(vm *vmv1alpha1.VirtualMachine, grace time.Duration) powerOff {
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

// detail tells power offs apart. With a time of its own one is no repetition of another: who
// shortens it does not wait for the end of the longer one.
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
