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

// checkResult is the result of a check of prerequisites.
type checkResult struct {
	report driver.Report
	// inputHash identifies the inputs of the check. It is 0 if a create has reported the result.
	inputHash uint64
	at        time.Time
	// failures is the number of consecutive failures of the same check before this one.
	failures int
}

// pause returns how long the result is valid. A first failure is valid only for a short time.
func (c *checkResult) pause() time.Duration {
	if c.report.Err() == nil {
		return recheckInterval
	}
	return min(firstRecheckDelay<<min(c.failures, 10), recheckInterval)
}

// check checks the prerequisites in the hypervisor, or only those of the given condition types, unless a recent result
// exists.
func (p *reconciliation) check(ctx context.Context, kinds ...string) (started bool, err error) {
	w := withOwnSpec(p.desired, p.req.VM)
	of := checkHash(w, kinds)
	if c := p.state.lastCheck; c != nil && c.inputHash == of && p.req.Now.Sub(c.at) < c.pause() {
		return false, nil
	}
	w, keep := w.Clone(), p.checkRecorder(of)
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

// withOwnSpec returns w for a check. If the effective spec cannot be resolved, the check uses the networks and disks of
// the object's spec.
func withOwnSpec(w *driver.Desired, vm *vmv1alpha1.VirtualMachine) *driver.Desired {
	if w.Effective != nil {
		return w
	}
	own := *w
	own.Effective = provider.InlineSpec(vm)
	return &own
}

// checkHash returns a hash of the inputs of a check.
func checkHash(w *driver.Desired, kinds []string) uint64 {
	var image *vmv1alpha1.VirtualMachineImageSpec
	if w.Image != nil {
		image = &w.Image.Spec
	}
	discs := map[string]*vmv1alpha1.VirtualMachineImageSpec{}
	for volume, image := range w.CDROMImages {
		if image != nil {
			discs[volume] = &image.Spec
		}
	}
	return hash(w.Effective.Network, image, w.CloneOf, w.StorageClasses, discs, kinds)
}

// checkRecorder returns a function that stores the result of a check. Operations call it after the reconcile has ended,
// so it must not use the request.
func (p *reconciliation) checkRecorder(of uint64) func(driver.Report) {
	e, key, uid, at := p.engine, p.key, p.uid(), p.req.Now
	return func(report driver.Report) {
		e.updateState(key, uid, func(r *objectState) {
			c := &checkResult{report: report, inputHash: of, at: at}
			if last := r.lastCheck; last != nil && last.inputHash == of && last.report.Err() != nil {
				c.failures = last.failures + 1
			}
			r.lastCheck = c
		})
	}
}

// reportChecks writes the result of the checks into the conditions. It uses the time of the check, because the current
// time would change the status in every reconcile. A successful
// result is removed after it is in status.
func (p *reconciliation) reportChecks() {
	c := p.state.lastCheck
	if c == nil {
		return
	}
	isReported := true
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
		isReported = isReported && meta.IsStatusConditionTrue(p.req.VM.Status.Conditions, kind)
	}
	if isReported && c.report.Err() == nil && meta.IsStatusConditionTrue(p.req.VM.Status.Conditions, vmv1alpha1.ConditionCreated) {
		p.engine.updateState(p.key, p.uid(), func(r *objectState) { r.lastCheck = nil })
		p.state.lastCheck = nil
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

// requeueFailedChecks returns a RequeueError if a check has failed.
func (p *reconciliation) requeueFailedChecks() error {
	c := p.state.lastCheck
	if c == nil || c.report.Err() == nil {
		return nil
	}
	return &provider.RequeueError{After: max(c.at.Add(c.pause()).Sub(p.req.Now), 0), Reason: "failed vSphere checks are repeated"}
}

// clearFailedChecks clears a failure that was reported earlier.
func (p *reconciliation) clearFailedChecks(kinds ...string) {
	if c := p.state.lastCheck; c != nil && c.report.Err() != nil {
		p.engine.updateState(p.key, p.uid(), func(r *objectState) { r.lastCheck = nil })
		p.state.lastCheck = nil
	}
	for _, kind := range kinds {
		c := meta.FindStatusCondition(p.req.VM.Status.Conditions, kind)
		set := slices.IndexFunc(p.Conditions, func(c metav1.Condition) bool { return c.Type == kind })
		if c != nil && c.Status != metav1.ConditionTrue || set >= 0 {
			p.True(kind)
		}
	}
}
