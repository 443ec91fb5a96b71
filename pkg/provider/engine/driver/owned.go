// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package driver

import "k8s.io/apimachinery/pkg/types"

// Owned is a virtual machine that says whose it is.
type Owned struct {
	// Key is namespace and name of the object, whether that exists or not.
	Key types.NamespacedName
	// UID of the object.
	UID types.UID
	// UniqueID is the hypervisor's own ID of the virtual machine.
	UniqueID string
	// Name that the hypervisor shows.
	Name string
}
