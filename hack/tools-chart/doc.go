// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart in artifacts/chart with Helm's library, and the overlays of artifacts/deploy
// with the types of the operators whose kinds they use.
package chart
