// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bounds limits the sizes and the characters of all lists, maps and strings that users write, for all kinds.
//
// Guarantees:
//
//  1. All fields have a limit. Fields that are not in the table have the limits MaxItems and MaxText.
//  2. A size is checked before the content. Items of a list that is too long and characters of a text
//     that is too long are not read. Because at most MaxErrors errors are reported, the cost of a rejection
//     does not depend on the content.
//  3. Accepted text can be represented in XML and is displayed unchanged in a terminal. vSphere therefore
//     returns the same value that it was given.
//  4. Errors do not contain the values of maps, because they can be passwords.
package bounds
