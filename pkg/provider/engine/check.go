// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
)

// checked is what was found out about prerequisites.
type checked struct {
	report driver.Report
	// of identifies what was checked, 0 for what a create found out by the way.
	of uint64
	at time.Time
	// failed is how often the same check has failed before.
	failed int
}

// pause is how long the outcome counts: a failure only briefly at first.
func (c *checked) pause() time.Duration {
	if c.report.Err() == nil {
		return recheck
	}
	return min(firstRecheck<<min(c.failed, 10), recheck)
}

// check resolves what the virtual machine needs of the hypervisor, or only what
// belongs to some conditions, unless that was done a moment ago.
func (p *pass) check(ctx context.Context, kinds ...string) (started bool, err error) {
	w := checkable(p.want, p.req.VM)
	of := checkOf(w, kinds)
	if c := p.rec.checked; c != nil && c.of == of && p.req.Now.Sub(c.at) < c.pause() {
		return false, nil
	}
	w, keep := w.Clone(), p.keepChecked(of)
	err = p.start(ctx, driver.Operation{Kind: driver.KindCheck, Run: func(ctx context.Context) error {
		report := p.engine.driver.Check(ctx, w, kinds...)
		if w.Image == nil {
			// Whether the object exists is for the caller to say.
			delete(report, vmv1alpha1.ConditionImageReady)
		}
		keep(report)
		return nil
	}})
	return err == nil, err
}

// checkable returns w for a check: without a size or a preference, what the spec of the object says by itself.
func checkable(w *driver.Want, vm *vmv1alpha1.VirtualMachine) *driver.Want {
	if w.Effective != nil {
		return w
	}
	own := *w
	own.Effective = provider.OwnSpec(vm)
	return &own
}

// checkOf identifies a check.
func checkOf(w *driver.Want, kinds []string) uint64 {
	var image *vmv1alpha1.VirtualMachineImageSpec
	if w.Image != nil {
		image = &w.Image.Spec
	}
	discs := map[string]*vmv1alpha1.VirtualMachineImageSpec{}
	for volume, image := range w.Discs {
		if image != nil {
			discs[volume] = &image.Spec
		}
	}
	return hash(w.Effective.Network, image, w.CloneOf, w.StorageClasses, discs, kinds)
}

// keepChecked returns what remembers what was found out. It is called by operations, which
// go on when the pass is over and its request is the caller's again.
func (p *pass) keepChecked(of uint64) func(driver.Report) {
	e, key, uid, at := p.engine, p.key, p.uid(), p.req.Now
	return func(report driver.Report) {
		e.change(key, uid, func(r *record) {
			c := &checked{report: report, of: of, at: at}
			if last := r.checked; last != nil && last.of == of && last.report.Err() != nil {
				c.failed = last.failed + 1
			}
			r.checked = c
		})
	}
}

// tellChecked puts what was found out into the conditions, with the time of the check:
// the caller may set the same conditions anew in every pass, and a time that moves
// with each would make each pass a change. What a status has already said, and is
// good, need not be remembered any longer.
func (p *pass) tellChecked() {
	c := p.rec.checked
	if c == nil {
		return
	}
	told := true
	for kind, err := range c.report {
		status, reason, message := metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, ""
		var note *driver.NoteError
		switch {
		case errors.As(err, &note):
			reason, message = note.Reason, note.Message
		case err != nil:
			status, reason, message = metav1.ConditionFalse, reasonOf(err), err.Error()
		}
		p.SetAt(c.at, kind, status, reason, message)
		told = told && meta.IsStatusConditionTrue(p.req.VM.Status.Conditions, kind)
	}
	if told && c.report.Err() == nil && meta.IsStatusConditionTrue(p.req.VM.Status.Conditions, vmv1alpha1.ConditionCreated) {
		p.engine.change(p.key, p.uid(), func(r *record) { r.checked = nil })
		p.rec.checked = nil
	}
}

func reasonOf(err error) string {
	var unusable *driver.NotUsableError
	switch {
	case errors.As(err, &unusable) && unusable.NotAllowed:
		return vmv1alpha1.ReasonNotAllowed
	case errors.As(err, &unusable) && unusable.Missing:
		return vmv1alpha1.ReasonNotFound
	case errors.As(err, &unusable):
		return vmv1alpha1.ReasonInvalid
	}
	return vmv1alpha1.ReasonError
}

// lookAgain asks for another pass when something that was checked is missing.
func (p *pass) lookAgain() error {
	c := p.rec.checked
	if c == nil || c.report.Err() == nil {
		return nil
	}
	return &provider.RequeueError{After: max(c.at.Add(c.pause()).Sub(p.req.Now), 0), Reason: "what vSphere lacks is looked for again"}
}

// resolved ends a failure to find something that was reported earlier.
func (p *pass) resolved(kinds ...string) {
	if c := p.rec.checked; c != nil && c.report.Err() != nil {
		p.engine.change(p.key, p.uid(), func(r *record) { r.checked = nil })
		p.rec.checked = nil
	}
	for _, kind := range kinds {
		c := meta.FindStatusCondition(p.req.VM.Status.Conditions, kind)
		set := slices.IndexFunc(p.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
		if c != nil && c.Status != metav1.ConditionTrue || set >= 0 {
			p.True(kind)
		}
	}
}
