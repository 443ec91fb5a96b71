// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inprocess lets a client talk to an HTTP handler of its own process without a
// connection.
//
// Guarantees:
//   - The handler gets the request that a server would give it, and all of it: who asks, what
//     is allowed and what is counted are decided where they are for everybody.
//   - An answer begins when the handler begins it, so that watches are streams. What is read
//     of it is what was written; an answer that the handler broke off does not look complete.
//   - Who stops reading, or whose context ends, ends the request of the handler. No goroutine
//     stays behind a handler that heeds its context.
package inprocess
