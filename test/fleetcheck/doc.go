// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fleetcheck compares the API, its store, vSphere and the management cluster for a fleet of virtual machines.
// It reports objects that are lost, duplicated, stuck or left behind, and changes of foreign objects. It also counts
// the calls to vSphere and their effects.
//
// Guarantees:
//   - It changes nothing. Each check has its own vCenter session.
//   - Finding problems is pure. A check that cannot read the state returns an error, not a problem.
//   - It remembers the vSphere VM that it first saw for an object, and reports a recreated VM as lost.
package fleetcheck
