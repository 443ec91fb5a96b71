// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	"github.com/slipway-dev/slipway/pkg/cluster/contract"
	"github.com/slipway-dev/slipway/pkg/controller"
)

// reconcileBootstrap takes the name of the Secret with the bootstrap data from the bootstrap
// object, once. Without such an object the user names the Secret.
func (s *scope) reconcileBootstrap(ctx context.Context) error {
	m, e := s.machine, &s.bootstrap
	switch {
	case !m.Spec.Bootstrap.ConfigRef.IsDefined():
		return nil
	case e.err != nil:
		return fmt.Errorf("bootstrap: %w", e.err)
	case e.gone:
		if !s.isDeleting() {
			s.again(controller.Poll) // No event tells of it: it has no owner yet.
		}
		return nil
	}
	if err := s.takeOver(ctx, e); err != nil || e.foreign {
		return err
	}
	if err := e.readFailure(); err != nil {
		return err
	}
	yes := true
	if m.Spec.Bootstrap.DataSecretName != nil {
		m.Status.Initialization.BootstrapDataSecretCreated = &yes
		return nil
	}
	created, err := contract.BootstrapCreated(e.kind, e.object)
	if err != nil {
		return err
	}
	if !created || e.object.GetDeletionTimestamp() != nil {
		return nil
	}
	name, err := contract.DataSecretName(e.object)
	switch {
	case err != nil:
		return err
	case name == "":
		return fmt.Errorf("status.dataSecretName of %s is empty although the data is said to be there", describe(e.object))
	}
	m.Spec.Bootstrap.DataSecretName, m.Status.Initialization.BootstrapDataSecretCreated = &name, &yes
	return nil
}
