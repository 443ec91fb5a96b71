// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serverflags writes docs/reference/flags.md from the flags of slipway-apiserver. Its test compares the page
// with the code.
package serverflags
