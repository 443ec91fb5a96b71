// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/pkg/provider/vmrecord"
)

// Owned is a virtual machine that has an owner.
type Owned struct {
	// Key is the namespace and the name of the object, which may not exist.
	Key types.NamespacedName
	// UID of the object.
	UID types.UID
	// UniqueID is the hypervisor's own ID of the virtual machine.
	UniqueID string
	// Name is the name in the hypervisor.
	Name string
	// InstanceUUID and BiosUUID are in lower case.
	InstanceUUID, BiosUUID string
	// Recorded is the head of the stored object record.
	Recorded vmrecord.Head
}

// Record is an encoded object record.
type Record struct {
	// Head of the record.
	Head vmrecord.Head
	// Text of the record.
	Text string
}
