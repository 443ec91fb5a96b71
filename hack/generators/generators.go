// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build generators

// Package generators keeps the code generators in go.mod, whose version the
// scripts of this directory build and run. No program imports it.
package generators

import (
	_ "k8s.io/code-generator"
)
