// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import "github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"

// Queue priorities of Machines by state, higher first. In other states the priority of the event is used.
const (
	// PriorityUnprovisioned is the priority of Machines without infrastructure.
	PriorityUnprovisioned = 100
	// PriorityWithoutNode is the priority of Machines without a Node.
	PriorityWithoutNode = 99
	// PriorityDeleting is the priority of Machines that are being deleted.
	PriorityDeleting = 98
)

// priority returns the priority of a Machine, or fallback if its state has none.
func priority(m *machine, fallback int) int {
	switch {
	case m.DeletionTimestamp != nil:
		return PriorityDeleting
	case !step.IsProvisioned(m):
		return PriorityUnprovisioned
	case !m.Status.NodeRef.IsDefined():
		return PriorityWithoutNode
	}
	return fallback
}
