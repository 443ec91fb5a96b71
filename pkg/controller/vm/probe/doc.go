// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probe decides what readiness probes report. Prober connects to guests, for probes of
// the kind tcpSocket. The other kinds are decided by what vSphere reports.
//
// Guarantees:
//
//  1. One queue holds every probe until it is due. There is no goroutine, timer or
//     connection for a virtual machine whose probe is not due, and there are never more
//     connections at once than Options.Connections. What answered goes before what did
//     not: guests that are silent do not delay those that talk.
//  2. Nobody is told of an outcome that is as the one before.
//  3. After Remove, and after Add with another target, an outcome of before is dropped,
//     although its connection may still be tried.
//  4. What fails here and not there (no free socket, for example) is no outcome. It is
//     tried again with a growing delay.
//  5. Only addresses that the guest itself reports are connected to, and of these only those
//     that Networks allows when the connection is made. No name is resolved.
package probe
