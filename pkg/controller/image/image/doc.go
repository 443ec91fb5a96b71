// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image writes the status of VirtualMachineImages and
// ClusterVirtualMachineImages: what vSphere has at the place that their spec names.
//
// A key of its queue is a place, a content library or a template, and not an image: one
// pass asks vSphere once for all images of a library.
//
// Guarantees:
//   - Nothing but status is written, and only where it differs.
//   - What could not be read is Unknown, never NotFound, and what was known of it before
//     stays. It is tried again with a growing delay.
//   - A library is listed once in listInterval, a template once in lookInterval; a
//     descriptor is read when the item or its content is another one than status
//     describes, and what cannot be used of the same version once in lookInterval.
//   - While no vCenter is in use nothing is written.
//   - An image is what any vCenter has by its names, and status is about that of one: of the
//     one before as long as that has it, so that nothing changes when another one comes or
//     is away. status.vCenters keeps those that cannot be asked.
//   - A place that no image names is not asked for.
package image
