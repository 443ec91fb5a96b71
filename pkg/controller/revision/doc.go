// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revision deletes ControllerRevisions that no object refers to. Revisions are created when an instance type or a
// preference is pinned.
//
// Guarantees:
//   - A revision is marked before it is deleted. It is deleted only if the VMs, instances, snapshots, templates and
//     revisions of its namespace, read from the API after the mark, do not need it; see instancetype.ReasonToKeep. While they
//     cannot be read, nothing is deleted.
//   - A revision is deleted only if it is unchanged since the mark. A controller that pins the same object in the meantime
//     removes the mark, or creates the revision again: it calls synchronizer.EnsureRevision again after it has written the status.
//   - A revision is reconciled when an object stops referring to it, and at each start.
package revision
