// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package odd asks the server for what nobody should ask for: every odd value at every
// place of the schema of every kind, by every way of writing, and every odd parameter
// and body with every verb.
//
// What it demands of each answer: its code is below 500; a refusal names the field; and
// to refuse costs less than maxCost of processor time, ten times that in the short form.
// It is a package of its own so that no other test shares its process, whose time that is.
package odd
