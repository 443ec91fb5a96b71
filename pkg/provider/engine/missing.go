// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// missing handles a virtual machine that was there and is not shown: unregistered,
// moved out of sight, on a host that was removed, or deleted by hand. It comes back as
// it went, by itself. again is true when it may be made anew.
func (p *pass) missing(ctx context.Context) (again bool, err error) {
	if p.rec.running != nil {
		return false, provider.ErrReconcileInProgress
	}
	if proved, err := p.prove(ctx); !proved {
		return false, err
	}
	id := p.want.Identity.UniqueID
	what := fmt.Sprintf("vSphere does not show the VM %s any more, which was here until about %s", id, p.rec.absent.since.UTC().Format(time.RFC3339))
	if p.engine.braked(p.key, p.req.VM) {
		p.manyMissing(what)
		return false, &provider.RequeueError{After: recheck, Reason: "many virtual machines are missing"}
	}
	if p.req.VM.Spec.WhenMissing != vmv1alpha1.WhenMissingRecreate {
		p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonMissing,
			what+"; nothing is made in its place (spec.whenMissing), and it is taken up again when it is back")
		return false, nil
	}
	if rest := p.graceLeft(); rest > 0 {
		p.Set(vmv1alpha1.ConditionCreated, metav1.ConditionUnknown, vmv1alpha1.ReasonMissing,
			what+fmt.Sprintf("; it is made anew if it is not back %s after it was missed (spec.whenMissing)", p.engine.opts.MissingGrace))
		return false, &provider.RequeueError{After: rest, Reason: "a missing virtual machine may come back"}
	}
	return true, nil
}

// prove asks the hypervisor itself, unless it has answered a moment ago.
func (p *pass) prove(ctx context.Context) (proved bool, err error) {
	e, now := p.engine, p.req.Now
	a := p.rec.absent
	if a != nil && !a.proved.IsZero() && now.Sub(a.proved) < searchAgain {
		return true, nil
	}
	id := p.want.Identity
	op := driver.Operation{Kind: driver.KindSearch, Run: func(ctx context.Context) error {
		found, err := e.driver.Search(ctx, id)
		if err != nil {
			return err
		}
		e.change(p.key, p.uid(), func(r *record) {
			if found == driver.Found {
				r.absent = nil
				e.brake.found(p.key) // No pass will know that it was missing.
				return
			}
			next := absence{since: e.opts.Now(), proved: e.opts.Now(), destroyed: found == driver.Destroyed}
			if r.absent != nil {
				next.since = r.absent.since
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
