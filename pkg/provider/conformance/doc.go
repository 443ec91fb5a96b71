// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance checks the guarantees that package provider asks of every
// provider. A test of a provider calls Run with a function that makes a target.
//
// The suite waits for hints and never polls: a provider that forgets a hint
// fails by timeout.
package conformance
