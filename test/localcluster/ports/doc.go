// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ports chooses the TCP ports of a local environment.
//
// Guarantees:
//   - A port that was chosen once is kept in a file, so that kubeconfigs stay valid
//     from one run to the next.
//   - All ports of one call are different and were free on 127.0.0.1 when they were
//     chosen.
//   - A port is drawn once by a process, whether its server listens yet or not.
//   - They are outside of the range that the system gives to connections, which
//     would take one while its server is down.
//   - A kept port that somebody else uses is one clear error, not a new port.
package ports
