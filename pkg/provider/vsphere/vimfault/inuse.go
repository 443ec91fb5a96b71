// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
)

// InUseError is returned when a disk that only one VM can attach is attached to another VM.
type InUseError struct {
	// Disk is the ID of the disk.
	Disk string
	// By is vSphere's name of the VM. It may be empty.
	By string
}

// Error implements error.
func (e *InUseError) Error() string {
	by := "a vSphere VM"
	if e.By != "" {
		by += " (" + e.By + ")"
	}
	return fmt.Sprintf("disk %s is attached to %s: detach it from that VM first", e.Disk, by)
}

// IsInUse reports whether vSphere refused the operation because an exclusive resource is in use.
func IsInUse(err error) bool {
	for f := range faultsOf(err) {
		for ; f != nil; f = causeOf(f) {
			if isType[*types.ResourceInUse](f) {
				return true
			}
		}
	}
	return false
}
