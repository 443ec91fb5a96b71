// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// outage is what is known of a hypervisor that does not answer.
type outage struct {
	// since is when the first of the failed observations was made, zero while they succeed.
	since time.Time
	// reported is the error that virtual machines report, nil before the outage is reported. It stays the same
	// until the end of the outage, so that each of their statuses is written once.
	reported *provider.UnreachableError
}

// ObserveConnection reports the result of an observation of the connection. If it fails for longer than patience,
// each virtual machine is queued once and reports the outage. Each is queued again at its end.
func (e *Engine) ObserveConnection(err *provider.UnreachableError, patience time.Duration) {
	e.mu.Lock()
	was, now := e.lost, e.opts.Now()
	switch {
	case err == nil:
		e.lost = outage{}
	case was.since.IsZero():
		e.lost.since = now
	case was.reported == nil && now.Sub(was.since) >= patience:
		e.lost.reported = err
	}
	changed := (was.reported == nil) != (e.lost.reported == nil)
	e.mu.Unlock()
	if changed {
		e.wakeAll()
	}
}

// Unreachable returns the error of the present outage, nil if there is none.
func (e *Engine) Unreachable() *provider.UnreachableError {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lost.reported
}

// wakeAll queues every virtual machine that memory has, and every object that waits for the hypervisor.
func (e *Engine) wakeAll() {
	keys := map[provider.Key]struct{}{}
	for _, owned := range e.driver.Owned() {
		keys[provider.VirtualMachineKey(owned.Key)] = struct{}{}
	}
	e.mu.Lock()
	for key, rec := range e.records {
		if rec.awaits || rec.running != nil {
			keys[key] = struct{}{}
		}
	}
	e.mu.Unlock()
	for key := range keys {
		e.hints.Send(key)
	}
}

// unreachable reports an outage in the conditions of what comes next: the creation, or configuration and power
// state of a virtual machine that exists. The object is queued at the end of the outage.
func (p *pass) unreachable() error {
	kinds := []string{vmv1alpha1.ConditionCreated}
	if wasThere(p.req.VM) {
		kinds = []string{vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionPowerStateSynced}
	}
	for _, kind := range kinds {
		p.Set(kind, metav1.ConditionUnknown, vmv1alpha1.ReasonUnreachable, p.lost.Error())
	}
	return p.awaitConnection()
}

// removalUnreachable reports an outage that delays a deletion.
func (p *pass) removalUnreachable() error {
	p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonUnreachable, "the deletion continues when vCenter answers: "+p.lost.Error())
	return p.awaitConnection()
}

func (p *pass) awaitConnection() error {
	if p.rec.running != nil {
		return provider.ErrReconcileInProgress
	}
	p.engine.await(p.key, p.uid())
	return provider.ErrUnknownState
}
