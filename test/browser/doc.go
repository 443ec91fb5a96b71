// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package browser drives a headless Chromium in tests, by the DevTools protocol over a pair of
// pipes: the few methods that tests of a page need, without a library and without a port.
//
// Guarantees: nothing outlives Close, the profile included; what the page asked of the network,
// what its scripts threw and what its policy refused is kept for the test to look at; every call
// ends with the context of the browser.
package browser
