// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package library creates an image object for each item of the content libraries that ContentLibrary objects name.
//
// Guarantees:
//
//  1. Only images with the label of a ContentLibrary are changed or deleted. Images that users create are not changed,
//     and their names are not used.
//  2. An image is deleted only after a complete list without its item, and not while a
//     virtual machine refers to it. While a library cannot be read, or is not found,
//     nothing is deleted.
//  3. An image keeps its name as long as its item exists. If the name that the template yields is in use, status has both
//     names.
//  4. A library that could not be read is Unknown, never NotFound. It is read again with a growing delay.
//  5. Of an existing image, only the labels of this package are written, and only if they differ.
package library
