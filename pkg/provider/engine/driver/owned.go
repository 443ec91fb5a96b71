// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

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
	// InstanceUUID and BiosUUID that it has, in lower case.
	InstanceUUID, BiosUUID string
	// Recorded says what record it keeps.
	Recorded vmrecord.Head
}

// Record is the record of an object.
type Record struct {
	// Head of it.
	Head vmrecord.Head
	// Text of it.
	Text string
}
