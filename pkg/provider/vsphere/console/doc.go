// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console gives what is to be seen of a virtual machine: a ticket for its console,
// and a picture of it.
//
// Guarantees:
//
//  1. Whose a VM is, and that it runs, is read from vCenter before, and not believed of a
//     status: who can write one must not see the console of another namespace by it.
//  2. Nothing is changed in vCenter, and no file is left: pictures come from the path /screen
//     of vCenter, not from CreateScreenshot_Task, which puts each into the directory of the VM.
//  3. Tickets are neither kept nor logged, nor part of an error.
//  4. A picture has a bound, and is a PNG.
package console
