// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/provider"
)

// outage is the state of a connection failure of the hypervisor.
type outage struct {
	// since is the time of the first failed observation; zero while observations succeed.
	since time.Time
	// reported is the error in the status of virtual machines; nil before the outage is reported. It does not change
	// during the outage, so that each status is written once.
	reported *provider.UnreachableError
}

// ObserveConnection records the result of a connection check. After failures for longer than patience, each virtual
// machine is enqueued once and reports the outage. All virtual machines are enqueued again when the outage ends.
func (e *Engine) ObserveConnection(err *provider.UnreachableError, patience time.Duration) {
	e.mu.Lock()
	before, now := e.outage, e.opts.Now()
	switch {
	case err == nil:
		e.outage = outage{}
	case before.since.IsZero():
		e.outage.since = now
	case before.reported == nil && now.Sub(before.since) >= patience:
		e.outage.reported = err
	}
	changed := (before.reported == nil) != (e.outage.reported == nil)
	e.mu.Unlock()
	if changed {
		e.wakeAll()
	}
}

// Unreachable returns the error of the current outage, or nil.
func (e *Engine) Unreachable() *provider.UnreachableError {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.outage.reported
}

// wakeAll enqueues every virtual machine in the inventory and every object that waits for the hypervisor.
func (e *Engine) wakeAll() {
	keys := map[provider.Key]struct{}{}
	for _, owned := range e.driver.Owned() {
		keys[provider.VirtualMachineKey(owned.Key)] = struct{}{}
	}
	e.mu.Lock()
	for key, rec := range e.states {
		if rec.awaitsRead || rec.running != nil {
			keys[key] = struct{}{}
		}
	}
	e.mu.Unlock()
	for key := range keys {
		e.hints.Send(key)
	}
}

// reportUnreachable reports an outage in ConfigurationSynced and PowerStateSynced if the virtual machine existed
// before, otherwise in Created. The object is enqueued at the end of the outage.
func (p *reconciliation) reportUnreachable() error {
	kinds := []string{vmv1alpha1.ConditionCreated}
	if hasExisted(p.req.VM) {
		kinds = []string{vmv1alpha1.ConditionConfigurationSynced, vmv1alpha1.ConditionPowerStateSynced}
	}
	for _, kind := range kinds {
		p.Set(kind, metav1.ConditionUnknown, vmv1alpha1.ReasonUnreachable, p.outageErr.Error())
	}
	return p.awaitConnection()
}

// reportUnreachableDeletion reports an outage that delays a deletion.
func (p *reconciliation) reportUnreachableDeletion() error {
	p.False(vmv1alpha1.ConditionReady, vmv1alpha1.ReasonUnreachable, "the deletion continues when vCenter responds: "+p.outageErr.Error())
	return p.awaitConnection()
}

func (p *reconciliation) awaitConnection() error {
	if p.state.running != nil {
		return provider.ErrReconcileInProgress
	}
	p.engine.awaitRead(p.key, p.uid())
	return provider.ErrUnknownState
}
