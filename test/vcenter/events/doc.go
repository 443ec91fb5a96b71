// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events changes the simulated vCenter as administrators, hosts and vCenter itself do: virtual machines are
// hidden, moved, renamed, unregistered and renumbered, and permissions are removed.
//
// Guarantees:
//   - Clients observe an event as they would on vCenter, and watching clients are notified.
//   - Every event has an inverse.
//   - An event that is also an API call (unregister, register, move) uses the same code as the call.
//
// The events of the control page identify virtual machines by managed object ID, instance UUID or name, and other
// objects by inventory path.
package events
