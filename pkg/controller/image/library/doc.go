// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package library keeps an image object for each item of the content libraries
// that ContentLibraries name.
//
// Guarantees:
//
//  1. Only images with the label of a ContentLibrary are changed or deleted. An image that
//     somebody wrote is left alone, and its name is not taken.
//  2. An image is deleted only after a complete list without its item, and not while a
//     virtual machine refers to it. While a library cannot be read, or is not found,
//     nothing is deleted.
//  3. An image keeps its name as long as its item is there. Where the name that the
//     template says is taken, status names both.
//  4. What could not be read is Unknown, never NotFound. It is tried again with a growing
//     delay.
//  5. Of images nothing is written but the labels of this package, and only where they
//     differ.
package library
