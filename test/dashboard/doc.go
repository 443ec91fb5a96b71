// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dashboard tests virtctl dashboard with 2,000 virtual machines in the whole environment, in a headless
// Chromium, and takes the screenshots of the documentation.
//
// It runs only with -long (make test-dashboard). Tests that need only tens of virtual machines are in test/e2e.
package dashboard
