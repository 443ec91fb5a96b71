// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply computes the effective spec of a virtual machine from its own spec, a class or an instance type, a
// preference and the defaults. There is one file per group of fields.
//
// The package guarantees:
//
//  1. All functions are pure and never change their arguments.
//  2. The order of precedence is virtual machine, preference, defaults. A field that both the virtual machine and its
//     instance type or class set is a conflict.
//  3. All problems are reported together, each with the path of its field.
//  4. Arithmetic is exact. Sockets, cores and threads are never 0, and their product is the requested number of vCPUs.
//  5. A field without a meaning in vSphere does not change the result. The validation of instance types and preferences
//     returns a warning for it.
package apply
