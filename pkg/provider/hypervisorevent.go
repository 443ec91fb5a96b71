// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// HypervisorEvent is an event of the hypervisor about a virtual machine.
type HypervisorEvent struct {
	// Key and UID of the object.
	Key types.NamespacedName
	UID types.UID
	// ID is unique among all events of the hypervisor, across restarts.
	ID string
	// At is the time of the event.
	At time.Time
	// Warning is true if the event needs attention.
	Warning bool
	// Reason is the reason of the event in one word. Note is its message.
	Reason, Note string
}
