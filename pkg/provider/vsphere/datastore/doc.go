// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package datastore lists datastores, manages their directories and copies files between them.
//
// Guarantees: removing a missing file succeeds. A read error is never reported as a missing file. Top-level
// directories are created with the namespace manager if the datastore requires it, as vSAN does.
package datastore
