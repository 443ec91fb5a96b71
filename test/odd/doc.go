// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package odd really makes what test/integration/odd only asks for: whatever odd value the
// API accepts is in a virtual machine that the controllers bring to the simulated vCenter,
// or in an instance type, a class, a preference, an image or a Secret that one uses. Each
// is then changed to another odd value, powered off, powered on, and deleted.
//
// What it demands after each step:
//   - No answer is 5xx, and no write of a status is refused.
//   - A machine is ready, or has a condition with a reason and a message that names the
//     field, its value, or what is missing.
//   - Nothing is asked of vSphere more than maxRepeats times for one generation, but for
//     what is repeated less and less often.
//   - The controllers come to rest.
package odd
