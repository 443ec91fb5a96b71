// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package zones tests where virtual machines go: an environment of two simulated vCenters
// with zones of their clusters, with and without DRS.
package zones
