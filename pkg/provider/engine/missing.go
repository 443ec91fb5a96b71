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

// searchAgain is how long the word of the hypervisor counts that it has not the
// virtual machine: less than the resync, which asks again.
const searchAgain = 5 * time.Minute

// wasThere is true for a virtual machine that was seen in the hypervisor once.
func wasThere(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.UniqueID != ""
}

// missingReasons are those of the condition Created of a virtual machine that is not shown.
var missingReasons = []string{vmv1alpha1.ReasonMissing, vmv1alpha1.ReasonManyMissing, vmv1alpha1.ReasonCopyFound}

// missingSince is when the virtual machine was first missed: by this process, or by an earlier
// one as the status has it.
func (p *pass) missingSince() (since time.Time) {
	if a := p.rec.absent; a != nil {
		since = a.since
	}
	c := meta.FindStatusCondition(p.req.VM.Status.Conditions, vmv1alpha1.ConditionCreated)
	if c != nil && slices.Contains(missingReasons, c.Reason) && (since.IsZero() || c.LastTransitionTime.Time.Before(since)) {
		since = c.LastTransitionTime.Time
	}
	return since
}

// missing handles a virtual machine that was there and is not shown: unregistered,
// moved out of sight, on a host that was removed, or deleted by hand. It comes back as
// it went, by itself. again is true when it may be created again: when it is known to be
// destroyed, or an administrator has confirmed that it is gone, and there is no copy.
func (p *pass) missing(ctx context.Context, copies []string) (again bool, err error) {
	if p.rec.running != nil {
		return false, provider.ErrReconcileInProgress
	}
	if proved, err := p.prove(ctx, copies); !proved {
		return false, err
	}
	vm, absent := p.req.VM, p.rec.absent
	what := fmt.Sprintf("vSphere does not show the VM %s any more, which was here until about %s", p.want.Identity.UniqueID, absent.since.UTC().Format(time.RFC3339))
	many := p.engine.braked(p.key, vm)
	recreate := vm.Spec.WhenMissing == vmv1alpha1.WhenMissingRecreate
	switch {
	case p.copyFound(what, copies):
		return false, nil
	case many:
		p.manyMissing(what)
		return false, &provider.RequeueError{After: recheck, Reason: "many virtual machines are missing"}
	case !recreate:
		what += "; nothing is made in its place (spec.whenMissing), and it is taken up again when it is back"
	case !absent.destroyed && !confirmed(vm):
		what += "; vCenter has no task that destroyed it, so that it may still run: it is recreated (spec.whenMissing) when the annotation " +
			vmv1alpha1.AnnotationConfirmedGone + "=" + p.want.Identity.UniqueID + " confirms that it is deleted"
	default:
		rest := p.graceLeft()
		if rest <= 0 {
			return true, nil
		}
		what += fmt.Sprintf("; it is made anew if it is not back %s after it was missed (spec.whenMissing)", p.engine.opts.MissingGrace)
		err = &provider.RequeueError{After: rest, Reason: "a missing virtual machine may come back"}
	}
	p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonMissing, what)
	return false, err
}

// copyFound reports copies of a virtual machine that is not shown; nothing is done to them. It is
// false if there are none.
func (p *pass) copyFound(what string, copies []string) bool {
	if p.rec.absent.elsewhere != "" {
		copies = append(slices.Clone(copies), p.rec.absent.elsewhere)
	}
	if len(copies) == 0 {
		return false
	}
	id := p.want.Identity.UniqueID
	p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonCopyFound, what+
		"; with its identity there is "+conditions.List(copies, ", ")+
		", which may be a copy and is left alone. If it is the VM, confirm it with virtctl adopt --copies, or with the annotation "+
		vmv1alpha1.AnnotationConfirmedGone+"="+id+"=NEW-ID")
	return true
}

// prove asks the hypervisor itself, unless it has answered a moment ago and nothing is new.
func (p *pass) prove(ctx context.Context, copies []string) (proved bool, err error) {
	e, now := p.engine, p.req.Now
	id := p.want.Identity
	if p.rec.absent.answers(&id, copies, now) {
		return true, nil
	}
	recreates := id.NeedsEnd && id.DeletedAt.IsZero()
	op := driver.Operation{Kind: driver.KindSearch, Run: func(ctx context.Context) error {
		found, err := e.driver.Search(ctx, id)
		if err != nil {
			return err
		}
		next := absence{since: e.opts.Now(), proved: e.opts.Now(), destroyed: found == driver.Destroyed, needsEnd: id.NeedsEnd, copies: copies}
		if found != driver.Found && recreates {
			if next.elsewhere, err = e.opts.Elsewhere(ctx, id); err != nil {
				return err
			}
		}
		e.change(p.key, p.uid(), func(r *record) {
			if found == driver.Found {
				r.absent = nil
				e.brake.found(p.key) // No pass will know that it was missing.
				return
			}
			if r.absent != nil {
				next.since, next.destroyed = r.absent.since, next.destroyed || r.absent.destroyed
			}
			r.absent = &next
		})
		return nil
	}}
	if hold := p.rec.last.Held(op, now); hold != nil {
		p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonUnknownState,
			"vSphere could not be asked for the VM: "+hold.Message)
		return false, &provider.RequeueError{After: hold.Wait, Reason: "vSphere is asked again"}
	}
	if err := p.start(ctx, op); err != nil {
		return false, err
	}
	return false, provider.ErrReconcileInProgress
}

// answers is true while the last word of the hypervisor counts.
func (a *absence) answers(id *driver.Identity, copies []string, now time.Time) bool {
	return a != nil && !a.proved.IsZero() && now.Sub(a.proved) < searchAgain &&
		(a.needsEnd || !id.NeedsEnd) && slices.Equal(a.copies, copies)
}

// graceLeft is how long a missing virtual machine has until its absence has
// consequences.
func (p *pass) graceLeft() time.Duration {
	return max(p.rec.absent.since.Add(p.engine.opts.MissingGrace).Sub(p.req.Now), 0)
}

// manyMissing reports the brake.
func (p *pass) manyMissing(what string) {
	p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonManyMissing, what+
		"; many others are missing too, so that none is made or deleted until they are back, or annotation "+
		vmv1alpha1.AnnotationConfirmedGone+"="+p.want.Identity.UniqueID+" says that this one is gone")
}

// braked notes that the virtual machine of key is missing, and is true while so many
// are that nothing may follow from it.
func (e *Engine) braked(key provider.Key, vm *vmv1alpha1.VirtualMachine) bool {
	managed := e.driver.Managed()
	e.mu.Lock()
	defer e.mu.Unlock()
	if confirmed(vm) {
		e.brake.found(key)
		return false
	}
	e.brake.missed(key, e.opts.Now())
	return e.brake.pulled(e.opts.Now(), managed)
}

// confirmed is true when somebody who may has said that the VM of the status is gone,
// or may be destroyed.
func confirmed(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.UniqueID != "" && vm.Annotations[vmv1alpha1.AnnotationConfirmedGone] == vm.Status.UniqueID
}

// confirmedAs is the ID that the VM of the status has now, as somebody who may has said; empty
// if nobody has.
func confirmedAs(vm *vmv1alpha1.VirtualMachine) string {
	was, now, _ := strings.Cut(vm.Annotations[vmv1alpha1.AnnotationConfirmedGone], "=")
	if was != vm.Status.UniqueID {
		return ""
	}
	return now
}
