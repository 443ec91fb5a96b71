// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build builds programs for other platforms.
//
// Guarantee: what comes out depends on the sources, the version of Go and the flags, and
// neither on where or when it is built nor on the environment.
package build
