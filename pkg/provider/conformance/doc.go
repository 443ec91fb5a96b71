// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conformance checks the guarantees that package provider requires of every provider. A test of a provider
// calls Run with a function that creates a target.
//
// The suite waits for events and never polls. A provider that does not send an event fails with a timeout.
package conformance
