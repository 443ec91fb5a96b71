// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import "github.com/vmware/govmomi/vim25/types"

// IsRefused reports whether vSphere certainly did not carry out the operation, because it returned a fault.
// The operation may have been carried out if there was no response. The same applies to faults that report
// a timeout, a cancellation, an ended session or a lost connection to the host.
func IsRefused(err error) bool {
	answered := false
	for f := range faultsOf(err) {
		for _, open := range []func(types.BaseMethodFault) bool{isType[*types.RequestCanceled], isType[types.BaseTimedout], isType[*types.NotAuthenticated], isType[*types.HostCommunication], isType[*types.HostNotReachable]} {
			if open(f) {
				return false
			}
		}
		answered = true
	}
	return answered
}
