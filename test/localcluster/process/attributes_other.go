// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import "syscall"

// attributes has no way to follow the parent's death outside Linux.
func attributes(syscall.Signal) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
