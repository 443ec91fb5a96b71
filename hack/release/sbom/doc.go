// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sbom creates a bill of materials in the CycloneDX format from the build information in a Go program.
//
// Guarantee: it contains exactly the modules of the program with their versions. The same program results in the same
// text.
package sbom
