// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console provides access to the console of a virtual machine: a ticket and a screenshot.
//
// Guarantees:
//
//  1. The owner and the power state of the VM are read from vCenter, not from the object's
//     status. A user who can write a status therefore cannot see another namespace's console.
//  2. Nothing is changed in vCenter, and no file is created: screenshots come from vCenter's
//     path /screen. CreateScreenshot_Task would write a file to the VM's directory.
//  3. Tickets are not stored or logged, and do not occur in errors.
//  4. A screenshot is a PNG of limited size.
package console
