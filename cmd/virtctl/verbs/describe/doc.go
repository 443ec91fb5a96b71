// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package describe implements the virtctl command describe, which shows a virtual machine on one screen.
package describe
