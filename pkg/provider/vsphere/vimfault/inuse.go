// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
)

// InUseError means that a VM has a disk that only one can have.
type InUseError struct {
	// Disk is the ID of the disk.
	Disk string
	// By is what vSphere says of who has it, empty for nothing.
	By string
}

// Error implements error.
func (e *InUseError) Error() string {
	by := "a vSphere VM"
	if e.By != "" {
		by += " (" + e.By + ")"
	}
	return fmt.Sprintf("disk %s is attached to %s that no claim names: detach it there", e.Disk, by)
}

// InUse reports whether vSphere says that something has what only one can have.
func InUse(err error) bool {
	for f := range faults(err) {
		for ; f != nil; f = cause(f) {
			if is[*types.ResourceInUse](f) {
				return true
			}
		}
	}
	return false
}
