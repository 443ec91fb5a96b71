// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package revision collects the ControllerRevisions that nothing names any
// more. They are made by whoever captures an instance type or a preference.
//
// Guarantees:
//   - A revision is deleted only when the virtual machines, instances, snapshots, templates
//     and revisions of its namespace, read from the API after it was marked, show that
//     nothing needs it:
//     instancetype.Keeps says what does. While they cannot be read nothing is deleted.
//   - It is deleted only as it was marked. Who captures the same object after that
//     removes the mark, or makes the revision again when it is gone already:
//     synchronizer.Ensure, called after the status is written too.
//   - Every revision is looked at when something stops naming it and at each start.
package revision
