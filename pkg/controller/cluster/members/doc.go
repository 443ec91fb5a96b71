// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package members is what is true of the objects that belong to a Cluster: whether they are
// paused, whom they belong to, and what many Machines are together.
//
// Guarantees:
//
//  1. Everything is computed of the objects that are handed in, which it does not change
//     unless it says so. The clock is a parameter.
//  2. The order of a list of Machines means nothing: the same Machines give the same choice,
//     the same counts and the same text.
//  3. Texts name a few Machines and count the rest, however many there are.
package members
