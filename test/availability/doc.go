// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package availability tests the real programs during failures of the control plane: a stopped process, an
// unreachable management cluster, several replicas, and a change of the vCenter.
//
// Each test has its own environment because it stops parts of it. Tests wait for conditions with a deadline and do
// not assert durations.
package availability
