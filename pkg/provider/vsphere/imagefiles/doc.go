// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagefiles keeps copies of the files of library items on datastores, for virtual
// machines to be made of.
//
// Guarantees:
//
//  1. A directory is of one attempt to copy, and has a name that no other one has had. Who
//     uses files waits until Copy has returned, and so never has half of one.
//  2. The names of directories tell the server whose they are, the item, its version and the
//     storage policy. Of two servers none touches what is the other's.
//  3. Copies are bounded, one disk at a time each, whatever the number of images is.
package imagefiles
