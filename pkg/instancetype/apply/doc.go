// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apply computes the effective spec of a virtual machine: what its own
// spec, a class or an instance type, a preference and the defaults make
// together. There is one file per group of fields.
//
// Guarantees:
//
//  1. Pure: the same values give the same result; arguments are never changed.
//  2. The order of precedence is virtual machine, preference, defaults. An
//     instance type or class shares no field with the virtual machine: a field
//     that both set is a conflict.
//  3. All problems are reported at once, each with the path of its field.
//  4. Arithmetic is exact. Sockets, cores and threads are never 0, and their
//     product is the number of vCPUs that was asked for.
//  5. A field that means nothing on vSphere never changes the result; who sets it
//     is warned by the validation of instance types and preferences.
package apply
