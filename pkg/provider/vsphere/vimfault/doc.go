// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vimfault classifies vSphere faults by what a caller can do about them. It uses the types
// of faults and never their text, which vSphere translates.
package vimfault
