// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
	"github.com/slipway-dev/slipway/pkg/provider/engine/driver"
	"github.com/slipway-dev/slipway/pkg/provider/engine/plan"
)

// handleAbsent handles a virtual machine that a complete read has not found.
func (p *reconciliation) handleAbsent(ctx context.Context, copies []string) error {
	if hasExisted(p.req.VM) {
		if again, err := p.handleMissing(ctx, copies); !again {
			return err
		}
	}
	return p.create(ctx)
}

// create starts the create of the virtual machine, or reports what it waits for.
func (p *reconciliation) create(ctx context.Context) error {
	p.Observation = &provider.Observation{}
	p.reportChecks()
	if p.state.running != nil {
		return provider.ErrReconcileInProgress
	}
	p.AttachedKnown = !hasExisted(p.req.VM) // a VM that was never created has no disks
	refused := p.engine.driver.CheckDesired(p.desired)
	if err := refused.Err(); err != nil {
		p.False(vmv1alpha1.ConditionCreated, refused.Reason(), err.Error())
		return &provider.NoRequeueError{Err: err}
	}
	if !p.req.PrerequisitesReady || p.desired.Effective == nil || p.desired.Image == nil {
		return p.waitForPrerequisites(ctx)
	}
	w := p.desired.Clone()
	w.Retried, w.Record = p.mayHaveLeftovers(), plan.Record(p.req)
	op := p.engine.driver.Create(w, p.checkRecorder(0))
	parts := []any{w.Effective, w.Image.Spec, w.CloneOf, w.AcceptEULA}
	if w.ImageCache != nil {
		parts = append(parts, w.ImageCache.UID, w.ImageCache.ResourceVersion)
	}
	return p.startCreate(ctx, op, parts...)
}

// startCreate starts op, which creates a virtual machine or completes an interrupted create. After a failure, a change
// of parts causes an immediate retry.
func (p *reconciliation) startCreate(ctx context.Context, op driver.Operation, parts ...any) error {
	op.Detail = fmt.Sprintf("%016x", hash(parts...))
	if hold := p.state.outcomes.HoldFor(op, p.req.Now); hold != nil {
		var cache *provider.ImageCacheNotReadyError
		if errors.As(hold.Err, &cache) {
			p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, "waiting for "+vmv1alpha1.ConditionImageCacheReady)
			return cache
		}
		p.False(vmv1alpha1.ConditionCreated, hold.Reason, hold.Message)
		return &provider.RequeueError{After: hold.Wait, Reason: "the last create: " + hold.Message}
	}
	err := p.start(ctx, op)
	switch {
	case isRefused(err):
		p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonTooManyCreates, "waiting for a free create slot")
	case err == nil:
		p.AttachedKnown = false
		p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonCreating, "")
	}
	return err
}

// mayHaveLeftovers reports whether an earlier create may have left files: a failed create of this process, or a create
// of an earlier process.
func (p *reconciliation) mayHaveLeftovers() bool {
	return p.state.outcomes.Last(driver.KindCreate) != nil || !p.req.VM.CreationTimestamp.After(p.engine.started)
}

// waitForPrerequisites reports the missing prerequisites and checks the others.
func (p *reconciliation) waitForPrerequisites(ctx context.Context) error {
	p.False(vmv1alpha1.ConditionCreated, vmv1alpha1.ReasonWaitingForPrerequisites, p.createWaitMessage())
	if started, err := p.check(ctx); started || err != nil {
		return err
	}
	if err := p.requeueFailedChecks(); err != nil || !p.desired.Adopted {
		return err
	}
	return &provider.RequeueError{After: recheckInterval, Reason: "the vSphere VM in spec.instanceUUID is searched for again"}
}

// createWaitMessage describes what a create waits for. If the VM can be adopted, its prerequisites are not needed.
func (p *reconciliation) createWaitMessage() string {
	if p.desired.Adopted {
		return p.missingPrerequisites() + ", or for a vSphere VM with instance UUID " + p.desired.Identity.InstanceUUID + " in the configured folder"
	}
	return p.missingPrerequisites()
}

// missingPrerequisites lists the missing prerequisites.
func (p *reconciliation) missingPrerequisites() string {
	st := p.req.VM.Status.DeepCopy()
	p.Apply(st, p.req.VM.Generation, p.req.Now)
	var kinds []string
	for _, kind := range vmv1alpha1.CreatePrerequisites {
		if c := meta.FindStatusCondition(st.Conditions, kind); c != nil && c.Status != metav1.ConditionTrue {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case len(kinds) > 0:
		return "waiting for " + strings.Join(kinds, ", ")
	case p.desired.Effective == nil:
		return "waiting for CPU and memory settings: the effective spec cannot be resolved"
	case p.desired.Image == nil:
		return "waiting for the image"
	}
	return "waiting for other conditions"
}

// hash returns a hash of the JSON encoding of parts.
func hash(parts ...any) uint64 {
	h := fnv.New64a()
	e := json.NewEncoder(h)
	for _, p := range parts {
		_ = e.Encode(p)
	}
	return h.Sum64()
}
