// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package odd creates real objects with the odd values that test/integration/odd only sends. Every odd value that the
// API accepts is set in a virtual machine of the simulated vCenter, or in an instance type, class, preference, image
// or Secret that a virtual machine uses. Each value is then changed to another odd value, and the machine is powered
// off, powered on and deleted.
//
// Requirements after each step:
//   - No answer is 5xx, and no status update is rejected.
//   - A machine is ready, or has a condition whose message names the field, its value or the missing object.
//   - The same vSphere call is made at most maxRepeats times for one generation, except for retries with growing
//     backoff.
//   - The controllers become idle.
package odd
