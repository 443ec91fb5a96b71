// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleet is one provider made of several, each of which has its vCenter. They
// come, are replaced and go while virtual machines are reconciled.
//
// Guarantees:
//
//  1. Of one vCenter at most one provider runs at a time: the next one begins when the
//     one before has ended, with all of its operations.
//  2. Until it was said for the first time what a vCenter is, and while it is replaced,
//     nothing is known of its virtual machines. Of one that there is none of it is
//     said so in Created.
//  3. A virtual machine whose last call did not succeed is hinted at when the provider of
//     its vCenter is another one: what it waited for may be gone with the one before.
package fleet
