// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// reconcileStatus reports the observed state. If the VM cannot be read, the last reported state is kept. Derived
// status, such as the addresses of Cluster API's contract, is set by the controller.
func reconcileStatus(in *Input, p *Plan) error {
	p.True(vmv1alpha1.ConditionCreated)
	in.reportPower(p)
	if !in.Observation.Readable {
		return nil
	}
	p.Observation = &in.Observation
	for _, c := range in.Observation.Conditions {
		p.Set(c.Type, c.Status, c.Reason, c.Message)
	}
	p.RemovedConditions = in.Observation.RemovedConditions
	return nil
}
