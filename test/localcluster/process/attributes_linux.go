// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package process

import "syscall"

func attributes(parentDeath syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: parentDeath}
}
