// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Happening is something that the hypervisor did to a virtual machine, or says of it.
type Happening struct {
	// Key and UID of the object.
	Key types.NamespacedName
	UID types.UID
	// ID tells it from all others of the hypervisor, across restarts.
	ID string
	// At is when it happened.
	At time.Time
	// Warning is true for what somebody should look at.
	Warning bool
	// Reason is one word for it, Note a sentence.
	Reason, Note string
}
