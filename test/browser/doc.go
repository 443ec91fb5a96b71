// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser drives a headless Chromium in tests, with the DevTools protocol over a pair of pipes. It implements
// only the methods that tests of a page need, without a library and without a port.
//
// Guarantees:
//   - No process and no profile remains after Close.
//   - Network requests of the page, exceptions of its scripts and violations of its content security policy are
//     stored for the test.
//   - Every call ends when the context of the browser ends.
package browser
