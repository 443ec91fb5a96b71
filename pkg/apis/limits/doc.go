// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits contains units and configuration maximums of vSphere that validation, instance types and the provider
// share, and the range of supported times. It does not depend on API types.
package limits
