// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/operation"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/placement"
	"github.com/slipway-dev/slipway/pkg/provider/vsphere/update"
)

// checked is the outcome of a check.
type checked struct {
	rep         *placement.Report
	fingerprint string
	at          time.Time
	// told is true when a status that a pass started from said it already.
	told bool
	// failed is how often the same check has failed before.
	failed int
}

// pause is how long the outcome counts: a failure only briefly at first.
func (c *checked) pause() time.Duration {
	if c.rep.Err() == nil {
		return recheck
	}
	return min(firstRecheck<<min(c.failed, 10), recheck)
}

// What no event tells is found by looking again: a failure after firstRecheck and
// then after twice the time, all after recheck at the latest.
const (
	firstRecheck = 5 * time.Second
	recheck      = time.Minute
)

// lookAgain asks for another pass when something that was checked is missing.
func (p *Provider) lookAgain(key types.NamespacedName, now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, ok := p.reports[key]
	if !ok || c.rep.Err() == nil {
		return nil
	}
	return &provider.RequeueError{After: max(c.at.Add(c.pause()).Sub(now), 0), Reason: "what vSphere lacks is looked for again"}
}

// check resolves what a create would need and reports it, without creating.
func (p *Provider) check(ctx context.Context, key types.NamespacedName, req *provider.Request, networkOnly bool) (<-chan error, error) {
	id := fingerprint("check", placement.NetworkNames(req.Effective), req.Image, networkOnly)
	p.mu.Lock()
	last, ok := p.reports[key]
	p.mu.Unlock()
	if ok && last.fingerprint == id && req.Now.Sub(last.at) < last.pause() {
		return nil, nil
	}
	effective, image, now := req.Effective.DeepCopy(), req.Image.DeepCopy(), req.Now
	return p.ops.Start(ctx, key, operation.Info{Kind: operation.Check}, func(ctx context.Context) error {
		rep := &placement.Report{Failures: map[string]error{}}
		if networkOnly {
			_, err := p.places.Backings(ctx, placement.NetworkNames(effective))
			rep.Failures[vmv1alpha1.ConditionNetworkReady] = err
		} else {
			rep = p.places.Check(ctx, effective, image)
			if image == nil {
				// Whether the object exists is for the caller to say.
				delete(rep.Failures, vmv1alpha1.ConditionImageReady)
			}
		}
		p.keepReport(key, checked{rep: rep, fingerprint: id, at: now})
		return nil
	})
}

func (p *Provider) keepReport(key types.NamespacedName, c checked) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last, ok := p.reports[key]; ok && last.fingerprint == c.fingerprint && last.rep.Err() != nil {
		c.failed = last.failed + 1
	}
	p.reports[key] = c
}

// applyReport puts the outcome of the last check into the conditions, with the
// time of the check: the caller may set the same conditions anew in every pass,
// and a time that moves with each would make each pass a change.
func (p *Provider) applyReport(key types.NamespacedName, req *provider.Request) {
	p.mu.Lock()
	c, ok := p.reports[key]
	p.mu.Unlock()
	if !ok {
		return
	}
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		update.SetCondition(&req.VM.Status, req.VM.Generation, c.at, kind, status, reason, message)
	}
	before := slices.Clone(req.VM.Status.Conditions)
	for kind, err := range c.rep.Failures {
		var unusable *placement.NotUsableError
		switch {
		case err == nil:
			set(kind, metav1.ConditionTrue, vmv1alpha1.ReasonSucceeded, "")
		case errors.As(err, &unusable) && unusable.Missing:
			set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonNotFound, err.Error())
		case errors.As(err, &unusable):
			set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonInvalid, err.Error())
		default:
			set(kind, metav1.ConditionFalse, vmv1alpha1.ReasonError, err.Error())
		}
	}
	if equality.Semantic.DeepEqual(before, req.VM.Status.Conditions) {
		p.reportTold(key, c.rep)
	}
}

// reportTold notes that rep, if it is still the last one, is in a stored status.
func (p *Provider) reportTold(key types.NamespacedName, rep *placement.Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.reports[key]; ok && c.rep == rep {
		c.told = true
		p.reports[key] = c
	}
}

// forgetTold drops a report that was stored with a status. One without failures is
// kept until then, because what a pass says may be lost, by a conflict for example;
// failures are over when this is called.
func (p *Provider) forgetTold(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c, ok := p.reports[key]; ok && (c.told || c.rep.Err() != nil) {
		delete(p.reports, key)
	}
}

// forgetReport drops a report that status holds.
func (p *Provider) forgetReport(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.reports, key)
}
