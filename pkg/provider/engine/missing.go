// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-dev/slipway/pkg/apis/conditions"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// searchInterval is how long the result of a search is valid. It must be shorter than the resync interval, so that each
// resync searches again.
const searchInterval = 5 * time.Minute

// hasExisted reports whether the virtual machine was observed in the hypervisor before.
func hasExisted(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.UniqueID != ""
}

// reasonsForMissing are the reasons of the Created condition for a missing virtual machine.
var reasonsForMissing = []string{vmv1alpha1.ReasonMissing, vmv1alpha1.ReasonManyMissing, vmv1alpha1.ReasonCopyFound}

// firstMissing returns when the virtual machine was first missing, according to this process or to the status.
func (p *reconciliation) firstMissing() (since time.Time) {
	if a := p.state.absence; a != nil {
		since = a.since
	}
	c := meta.FindStatusCondition(p.req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
	if c != nil && slices.Contains(reasonsForMissing, c.Reason) && (since.IsZero() || c.LastTransitionTime.Time.Before(since)) {
		since = c.LastTransitionTime.Time
	}
	return since
}

// handleMissing handles a virtual machine that existed and is no longer visible. It may be unregistered, moved out of
// the managed folder, on a removed host, or deleted manually. If it reappears, it is managed again. again is true if it
// may be recreated: it is known to be destroyed or an administrator has confirmed this, and there is no copy.
func (p *reconciliation) handleMissing(ctx context.Context, copies []string) (again bool, err error) {
	if p.state.running != nil {
		return false, provider.ErrReconcileInProgress
	}
	if proved, err := p.confirmAbsence(ctx, copies); !proved {
		return false, err
	}
	vm, absent := p.req.VM, p.state.absence
	what := fmt.Sprintf("VM %s is no longer visible in vSphere (missing since about %s)", p.desired.Identity.UniqueID, absent.since.UTC().Format(time.RFC3339))
	many := p.engine.recordMissing(p.key, vm)
	recreate := vm.Spec.WhenMissing == vmv1alpha1.WhenMissingRecreate
	switch {
	case p.reportCopies(what, copies):
		return false, nil
	case many:
		p.reportManyMissing(what)
		return false, &provider.RequeueError{After: recheckInterval, Reason: "many virtual machines are missing"}
	case !recreate:
		what += "; it is not recreated (spec.whenMissing) and is managed again if it reappears"
	case !absent.destroyed && !isConfirmedDeleted(vm):
		what += "; vCenter has no task that destroyed it, so it may still be running. To recreate it (spec.whenMissing), confirm that it is deleted with the annotation " +
			vmv1alpha1.AnnotationConfirmedMissing + "=" + p.desired.Identity.UniqueID
	default:
		remaining := p.remainingGrace()
		if remaining <= 0 {
			return true, nil
		}
		what += fmt.Sprintf("; it is recreated if it does not reappear within %s (spec.whenMissing)", p.engine.opts.MissingGrace)
		err = &provider.RequeueError{After: remaining, Reason: "a missing virtual machine may reappear"}
	}
	p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonMissing, what)
	return false, err
}

// reportCopies reports copies of a missing virtual machine in the conditions and returns true. It returns false if
// there are no copies. It does not change the copies.
func (p *reconciliation) reportCopies(what string, copies []string) bool {
	if p.state.absence.elsewhere != "" {
		copies = append(slices.Clone(copies), p.state.absence.elsewhere)
	}
	if len(copies) == 0 {
		return false
	}
	id := p.desired.Identity.UniqueID
	p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonCopyFound, what+
		"; VMs with the same identity exist: "+conditions.JoinLimited(copies, ", ")+
		". They may be copies and are not changed. If one of them is the VM, confirm it with virtctl adopt --copies, or with the annotation "+
		vmv1alpha1.AnnotationConfirmedMissing+"="+id+"=NEW-ID")
	return true
}

// confirmAbsence searches for the virtual machine in the hypervisor unless a recent result for the same question
// exists.
func (p *reconciliation) confirmAbsence(ctx context.Context, copies []string) (proved bool, err error) {
	e, now := p.engine, p.req.Now
	id := p.desired.Identity
	if p.state.absence.isCurrent(&id, copies, now) {
		return true, nil
	}
	recreates := id.NeedsDestroyedCheck && id.DeletedAt.IsZero()
	op := driver.Operation{Kind: driver.KindSearch, Run: func(ctx context.Context) error {
		found, err := e.driver.Search(ctx, id)
		if err != nil {
			return err
		}
		next := absence{since: e.opts.Now(), searchedAt: e.opts.Now(), destroyed: found == driver.Destroyed, needsEnd: id.NeedsDestroyedCheck, copies: copies}
		if found != driver.Found && recreates {
			if next.elsewhere, err = e.opts.FindElsewhere(ctx, id); err != nil {
				return err
			}
		}
		e.updateState(p.key, p.uid(), func(r *objectState) {
			if found == driver.Found {
				r.absence = nil
				e.breaker.clearMissing(p.key) // the next reconcile has no recorded absence to clear
				return
			}
			if r.absence != nil {
				next.since, next.destroyed = r.absence.since, next.destroyed || r.absence.destroyed
			}
			r.absence = &next
		})
		return nil
	}}
	if hold := p.state.outcomes.HoldFor(op, now); hold != nil {
		p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState,
			"searching vSphere for the VM failed: "+hold.Message)
		return false, &provider.RequeueError{After: hold.Wait, Reason: "the search for the VM is retried"}
	}
	if err := p.start(ctx, op); err != nil {
		return false, err
	}
	return false, provider.ErrReconcileInProgress
}

// isCurrent reports whether the last search is recent enough and answers the same question.
func (a *absence) isCurrent(id *driver.Identity, copies []string, now time.Time) bool {
	return a != nil && !a.searchedAt.IsZero() && now.Sub(a.searchedAt) < searchInterval &&
		(a.needsEnd || !id.NeedsDestroyedCheck) && slices.Equal(a.copies, copies)
}

// remainingGrace returns the remaining grace period of a missing virtual machine.
func (p *reconciliation) remainingGrace() time.Duration {
	return max(p.state.absence.since.Add(p.engine.opts.MissingGrace).Sub(p.req.Now), 0)
}

// reportManyMissing reports in the Created condition that the circuit breaker for mass disappearance has tripped.
func (p *reconciliation) reportManyMissing(what string) {
	p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonManyMissing, what+
		"; many other VMs are missing too, so none is created or deleted until they reappear. To confirm that this VM is deleted, set the annotation "+
		vmv1alpha1.AnnotationConfirmedMissing+"="+p.desired.Identity.UniqueID)
}

// recordMissing records that the virtual machine of key is missing. It returns true while the circuit breaker for mass
// disappearance is tripped.
func (e *Engine) recordMissing(key provider.Key, vm *vmv1alpha1.VirtualMachine) bool {
	managed := e.driver.CountOwned()
	e.mu.Lock()
	defer e.mu.Unlock()
	if isConfirmedDeleted(vm) {
		e.breaker.clearMissing(key)
		return false
	}
	e.breaker.recordMissing(key, e.opts.Now())
	return e.breaker.isTripped(e.opts.Now(), managed)
}

// isConfirmedDeleted reports whether an administrator has confirmed by annotation that the VM in status is deleted or
// may be destroyed.
func isConfirmedDeleted(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.UniqueID != "" && vm.Annotations[vmv1alpha1.AnnotationConfirmedMissing] == vm.Status.UniqueID
}

// confirmedNewID returns the new ID of the VM in status, as an administrator has confirmed by annotation; empty if
// there is no such annotation.
func confirmedNewID(vm *vmv1alpha1.VirtualMachine) string {
	old, current, _ := strings.Cut(vm.Annotations[vmv1alpha1.AnnotationConfirmedMissing], "=")
	if old != vm.Status.UniqueID {
		return ""
	}
	return current
}
