// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contentlibrary publishes the content library of the simulated vCenter and deploys from it.
//
// Guarantees:
//   - The library and its items have the same names at every start. Identifiers differ because vCenter generates
//     them.
//   - A deployment creates the virtual machine with the given configuration in one step, so the VM never exists
//     without its instance UUID.
//   - Deployments run in parallel.
//   - An invalid reference or a name in use is returned as a deployment error.
//   - If a deployment has a configuration, only the disks of the descriptor are used, unless a test requests
//     otherwise.
package contentlibrary
