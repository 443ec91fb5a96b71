// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package datastores is what a vCenter does with files on datastores: directories, copies
// and deletions, in the place of the simulator's, which copies in no time what it finds on
// its disk.
//
// Guarantees:
//   - A file has a size that costs nothing: what is free of a datastore shrinks and grows by
//     it, and a copy for which there is no room fails with NoDiskSpace.
//   - A copy takes as long as its size and the ordered rate say, tells its progress, and can
//     be cancelled. One that has not ended, or has failed, leaves a file: half a disk looks
//     like a whole one.
//   - Files that are copied, and those that a virtual machine which runs has open, cannot be
//     deleted.
//   - Copies need a source, a directory that is there, and a name that is free.
//   - On a datastore that has no top-level directories (vSAN) they are made and deleted by
//     the manager of namespaces alone, and have a UUID for a name.
//   - Calls fail as ordered.
package datastores
