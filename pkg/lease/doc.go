// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lease holds Leases of the host cluster for a process, each by an election of
// its own: what has to be done by one process at a time is divided by them.
//
// Guarantees:
//
//  1. A Lease that is held stays so until it is withdrawn from, also while it cannot be
//     renewed: its fence says whether anything may be done. When another process has held
//     it meanwhile, Options.Fail is called: what this process knows is out of date.
//  2. It is given back when Withdraw is called or by Close, not before, and so when
//     all that was done under it has ended.
//  3. A Lease that is free is left to others for a while by a process that holds some of
//     its kind already. That decides who takes it, not whether it is taken.
package lease
