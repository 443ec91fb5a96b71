// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess lets a client send requests to an HTTP handler of the same process without a connection.
//
// Guarantees:
//   - The handler gets the same request as from a server. Authentication, authorization and metrics work as usual.
//   - A response begins when the handler writes its header, so watches are streams. A response that the handler
//     aborted does not look complete.
//   - If the client stops reading or its context ends, the context of the handler's request ends. No goroutine
//     remains after a handler that respects its context.
package inprocess
