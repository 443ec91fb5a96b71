// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import "github.com/vmware/govmomi/vim25/types"

// Refused is true when err shows that vSphere did not do what it was asked for: it
// has answered with a fault. Without an answer, or with one that says that somebody
// stopped waiting, it may have been done.
func Refused(err error) bool {
	answered := false
	for f := range faults(err) {
		for _, open := range []func(types.BaseMethodFault) bool{is[*types.RequestCanceled], is[types.BaseTimedout], is[*types.NotAuthenticated], is[*types.HostCommunication], is[*types.HostNotReachable]} {
			if open(f) {
				return false
			}
		}
		answered = true
	}
	return answered
}
