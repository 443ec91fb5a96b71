// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limits holds the sizes that vSphere has: units and maximums that
// validation, instance types and the provider all go by, and the times that all of
// them can read. It knows no API type.
package limits
