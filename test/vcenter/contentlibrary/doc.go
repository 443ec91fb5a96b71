// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contentlibrary publishes the content library of the simulated vCenter
// and deploys from it.
//
// Guarantees: the library and its items have the same names at every start (not
// the same identifiers, as vCenter's are generated); a deployment creates the
// virtual machine with the given configuration in one step, so that it never
// exists without its instance UUID; deployments run side by side; a bad
// reference or a name in use is answered as a deployment error. Where a deployment has a
// configuration the descriptor counts for its disks only, unless ordered otherwise.
package contentlibrary
