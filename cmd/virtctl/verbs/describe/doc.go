// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package describe has the command describe of virtctl, which describes a virtual machine.
package describe
