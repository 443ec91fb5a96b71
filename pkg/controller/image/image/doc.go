// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image writes the status of VirtualMachineImages and ClusterVirtualMachineImages from the library item or template
// that their spec names.
//
// A key of its queue is a source, that is a content library or a template, and not an image: one reconcile reads a library
// once for all its images.
//
// Guarantees:
//   - Only status is written, and only if it differs.
//   - An image that could not be read is Unknown, never NotFound, and status keeps its previous description. Reading is
//     retried with a growing delay.
//   - A library is listed once in listInterval, a template is read once in describeInterval. A descriptor is read when the
//     item or its content differs from the description in status. An unusable item is read once in describeInterval.
//   - While no vCenter is in use, nothing is written.
//   - Several vCenters can have an image. Status describes the image of one vCenter, and of the same vCenter as long as that has the image,
//     so that status does not change when another vCenter is added or unreachable. status.vCenters keeps the names of
//     unreachable vCenters.
//   - A source that no image names is not read.
package image
