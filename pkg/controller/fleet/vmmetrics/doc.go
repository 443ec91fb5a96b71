// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vmmetrics shows metrics of single virtual machines.
package vmmetrics
