// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package archive writes archives.
//
// Guarantee: the same files and the same time result in the same bytes. Owners and modes do not depend on the build
// machine.
package archive
