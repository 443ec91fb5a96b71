// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dashboard looks at virtctl dashboard with 2,000 virtual machines in the whole environment,
// in a headless Chromium, and takes the pictures of the documentation.
//
// It runs with -long alone (make test-dashboard): what needs only tens of virtual machines is
// tested in test/e2e.
package dashboard
