// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fake is a provider whose hypervisor is memory, for tests of what uses
// a provider. It passes the conformance suite, so that a test on it says
// something about the real one.
//
// Tests control it: Hold keeps operations from ending, FailNext makes the next
// one of a kind fail, SetReadable(false) is a hypervisor that cannot be read,
// Pause is an administrator's pause, and VMs shows what exists.
package fake
