// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// providerDelay is how long events do not bring back a Machine whose infrastructure is said to
// be there and has no provider ID yet.
const providerDelay = 5 * time.Second

// reconcileInfrastructure takes provider ID, addresses and failure domain from the
// infrastructure, all or none of them. That it was provisioned is never taken back.
func (s *scope) reconcileInfrastructure(ctx context.Context) error {
	m, e := s.machine, &s.infra
	switch {
	case e.err != nil:
		return fmt.Errorf("infrastructure: %w", e.err)
	case e.gone && s.isDeleting():
		return nil
	case e.gone && isProvisioned(m):
		ref := m.Spec.InfrastructureRef
		return fmt.Errorf("infrastructure: %s %s/%s was deleted while its Machine exists", ref.Kind, m.Namespace, ref.Name)
	case e.gone:
		s.again(controller.Poll)
		return nil
	case e.object == nil:
		return nil // Validation asks for a reference; without one there is nothing to take.
	}
	if err := s.takeOver(ctx, e); err != nil || e.foreign {
		return err
	}
	if err := e.readFailure(); err != nil {
		return err
	}
	provisioned, err := contract.InfraProvisioned(e.kind, e.object)
	if err != nil {
		return err
	}
	if e.object.GetDeletionTimestamp() != nil || !provisioned && !isProvisioned(m) {
		return nil
	}
	return s.copyInfrastructure(e)
}

func (s *scope) copyInfrastructure(e *external) error {
	m := s.machine
	provider, err := contract.ProviderID(e.object)
	if err != nil {
		return err
	}
	if provider == "" {
		// Its next change brings the Machine back, and no earlier: there are many until then.
		s.notBefore = providerDelay
		return nil
	}
	addresses, err := contract.Addresses(e.object)
	if err != nil {
		return err
	}
	old, err := contract.OldFailureDomain(e.object)
	if err != nil {
		return err
	}
	domain, err := contract.FailureDomain(e.object)
	if err != nil {
		return err
	}
	yes := true
	m.Spec.ProviderID, m.Status.Initialization.InfrastructureProvisioned = provider, &yes
	if addresses != nil {
		m.Status.Addresses = addresses
	}
	if old != "" {
		m.Spec.FailureDomain = old
	}
	if domain != "" {
		m.Status.FailureDomain = domain
	}
	return nil
}
