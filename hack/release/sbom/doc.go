// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sbom tells what a program is made of: a bill of materials in the format
// CycloneDX, from what Go has written into the program itself.
//
// Guarantee: it names every module that is in the program, with its version, and no
// other; the same program gives the same text.
package sbom
