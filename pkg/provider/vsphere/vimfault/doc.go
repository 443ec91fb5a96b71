// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vimfault sorts the faults of vSphere into what a caller can do about
// them. It looks at the types of faults, never at their text, which vSphere
// translates.
package vimfault
