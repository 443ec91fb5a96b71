// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package vimfault

import (
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"
)

// Refused is true when err shows that vSphere did not do what it was asked for: it
// has answered with a fault. Without an answer, or with one that says that somebody
// stopped waiting, it may have been done.
func Refused(err error) bool {
	var answered types.BaseMethodFault
	if _, ok := fault.As(err, &answered); !ok {
		return false
	}
	for _, open := range []func(error) bool{is[*types.RequestCanceled], is[*types.Timedout], is[*types.NotAuthenticated], is[*types.HostCommunication]} {
		if open(err) {
			return false
		}
	}
	return true
}
