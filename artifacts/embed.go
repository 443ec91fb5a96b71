// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package artifacts holds the manifests of a deployment and the examples, so that
// programs which apply them do not depend on the directory they are started in.
package artifacts

import "embed"

// Deploy holds deploy/*.yaml in the order in which they are to be applied.
//
//go:embed deploy/*.yaml
var Deploy embed.FS

// Quickstart is examples/quickstart.yaml.
//
//go:embed examples/quickstart.yaml
var Quickstart []byte
