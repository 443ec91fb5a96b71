// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package datastores implements file operations on datastores: directories, copies and deletions. It replaces the
// simulator's implementation, which copies real files without delay.
//
// Guarantees:
//   - The size of a file is simulated and uses no disk space. It changes the free space of the datastore, and a copy
//     that does not fit fails with NoDiskSpace.
//   - A copy takes as long as its size and the configured rate require, reports progress, and can be cancelled. A
//     copy that is incomplete or failed leaves a file: half a disk looks like a complete one.
//   - Files that are being copied, or that a running virtual machine has open, cannot be deleted.
//   - A copy needs a source, an existing directory and a free name.
//   - On a datastore without top-level directories (vSAN) only the namespace manager creates and deletes them, and
//     their names are UUIDs.
//   - Calls fail if a test requests it.
package datastores
