// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build generators

// Package generators keeps the code generators in go.mod. The scripts in this directory build and run these versions.
// No program imports the package.
package generators

import (
	_ "k8s.io/code-generator"
)
