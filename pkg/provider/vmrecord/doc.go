// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vmrecord writes the object of a virtual machine as text that the hypervisor keeps
// with the virtual machine itself, and reads it back.
//
// Guarantees:
//
//  1. The same object gives the same text, so that a text which differs means a change.
//  2. A text has at most MaxEncoded characters, of the alphabet of base64. What would be
//     longer is an error, never cut.
//  3. Whatever the text, reading takes no more than MaxDecoded bytes, and what was not
//     written here is an error.
//  4. Status and managed fields are not part of a record; neither is the copy of the
//     manifest that kubectl keeps in an annotation. Secrets are in it by name only.
package vmrecord
