// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalogue tells what one vCenter has that virtual machines are made from: the
// items of its content libraries, and templates.
//
// Guarantees: it only reads. A list of items is complete or an error; an item that goes
// while the list is read is left out. A NotUsableError is what vCenter has answered, any
// other error means that nothing is known. How much is read is bounded: the items of a
// library by their number, descriptors by their size, what is told of either by
// descriptor.
package catalogue
