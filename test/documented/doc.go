// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package documented reads the commands that docs/operations.md tells administrators to type,
// so that tests run them as they are written there.
package documented
