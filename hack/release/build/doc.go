// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package build builds programs for other platforms.
//
// Guarantee: the result depends only on the sources, the version of Go and the flags. The time, the directory and the
// environment of the build do not change it.
package build
