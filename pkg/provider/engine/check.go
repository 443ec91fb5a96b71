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

// checked is the result of a check of prerequisites.
type checked struct {
	report driver.Report
	// of identifies the inputs of the check. It is 0 for a result that a create has reported.
	of uint64
	at time.Time
	// failed is the number of consecutive failures of the same check before this one.
	failed int
}

// pause returns how long the result is valid. A first failure is valid only for a short time.
func (c *checked) pause() time.Duration {
	if c.report.Err() == nil {
		return recheck
	}
	return min(firstRecheck<<min(c.failed, 10), recheck)
}

// check checks the prerequisites in the hypervisor, or only those of the given condition types, unless a recent result
// exists.
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
			// Only the caller knows whether the image object exists.
			delete(report, vmv1alpha1.ConditionImageReady)
		}
		keep(report)
		return nil
	}})
	return err == nil, err
}

// checkable returns w for a check. If the effective spec cannot be resolved, it uses the networks and disks of the
// object's own spec.
func checkable(w *driver.Want, vm *vmv1alpha1.VirtualMachine) *driver.Want {
	if w.Effective != nil {
		return w
	}
	own := *w
	own.Effective = provider.OwnSpec(vm)
	return &own
}

// checkOf returns a hash of the inputs of a check.
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

// keepChecked returns a function that stores the result of a check. Operations call it after the reconcile has ended,
// so it must not use the request.
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

// tellChecked writes the result of the checks into the conditions, with the time of the check. The caller may set the
// same conditions in every reconcile; with the current time, each reconcile would change the status. A successful
// result is removed after the status has it.
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

// lookAgain returns a RequeueError if a check has failed.
func (p *pass) lookAgain() error {
	c := p.rec.checked
	if c == nil || c.report.Err() == nil {
		return nil
	}
	return &provider.RequeueError{After: max(c.at.Add(c.pause()).Sub(p.req.Now), 0), Reason: "failed vSphere checks are repeated"}
}

// resolved clears a failure that was reported earlier.
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
