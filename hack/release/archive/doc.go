// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package archive writes archives.
//
// Guarantee: the same files and the same time give the same bytes. Owners are nobody's
// on the machine that writes, and modes are those that are asked for.
package archive
