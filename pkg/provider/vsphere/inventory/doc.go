// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inventory knows the virtual machines of the managed folder without
// asking for them: one property collector per vCenter delivers what changes.
//
// Guarantees:
//
//  1. A record is complete and never changes: every change makes a new one. The stream
//     delivers each property by its own path. A virtual machine of which a property is
//     missing that decisions need is read again, and if it is still missing, its record
//     has no configuration and has the fault as the reason (observe.Trouble).
//  2. Until everything was read once, and while the stream is lost, nothing is
//     Absent: what is not known is Unknown. A lost stream is rebuilt, and then
//     everything is read once. What somebody read directly in the meantime, such
//     as a new virtual machine, is kept.
//  3. Every wait for updates is bounded, by the server and by a deadline of our own,
//     and a new login ends it, for a server may forget whom it should wake. The end
//     of the managed folder ends the stream, which is rebuilt for the one made anew.
//  4. Tasks are awaited by the same stream; there is no polling goroutine per
//     virtual machine or task.
//  5. What the stream loses sight of is read before it is forgotten: a virtual machine
//     that was moved out of the managed folder is there. It is followed in a list of
//     its own, as is every one that is read directly.
//  6. A direct read that shows something new is repeated with the answers of the stream
//     until that surely has it: what comes and goes between two answers it may not tell of.
package inventory
