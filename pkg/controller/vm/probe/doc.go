// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package probe determines the results of readiness probes. Prober connects to guests for probes of the kind tcpSocket.
// The results of other kinds depend on the state that vSphere reports.
//
// The package guarantees:
//
//  1. One queue holds every probe until it is due. A virtual machine whose probe is not due has no goroutine, timer or
//     connection. There are never more concurrent connections than Options.Connections. Guests that responded have
//     priority over guests that did not, so unresponsive guests do not delay the others.
//  2. Only results that differ from the previous one are reported.
//  3. After Remove, and after Add with another target, results of earlier attempts are dropped, even if their connection
//     is still in progress.
//  4. A local failure, for example a lack of free sockets, is not a result. The probe is retried with backoff.
//  5. Prober connects only to addresses that the guest itself reports, and only if Networks allows them when the
//     connection is made. It does not resolve names.
package probe
