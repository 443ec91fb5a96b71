// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import "github.com/slipway-dev/slipway/pkg/controller/cluster/machine/step"

// Priorities of a Machine by its state, higher first. A Machine of another state has the
// priority of the event that brings it.
const (
	// PriorityUnprovisioned is for one that has no infrastructure yet.
	PriorityUnprovisioned = 100
	// PriorityWithoutNode is for one that has no Node yet.
	PriorityWithoutNode = 99
	// PriorityDeleting is for one that is being deleted.
	PriorityDeleting = 98
)

// priority is that of a Machine, or fallback where nothing about it asks for another.
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
