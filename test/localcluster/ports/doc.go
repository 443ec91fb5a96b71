// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ports chooses the TCP ports of a local environment.
//
// Guarantees:
//   - A chosen port is stored in a file, so that kubeconfigs stay valid from one run to the next.
//   - All ports of one call are different and were free on 127.0.0.1 when they were chosen.
//   - A process never chooses the same port twice, even if no server listens on it yet.
//   - Ports are outside the system's ephemeral range, because a connection could otherwise use a port while its
//     server is stopped.
//   - If another process uses a stored port, Choose returns an error and does not choose a new port.
package ports
