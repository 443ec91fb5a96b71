// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quota says what ResourceQuotas of the host cluster are charged for. The
// admission plugin of the API server library does the charging, and a controller counts
// anew what is used.
//
// Guarantees:
//   - A virtual machine is charged from its creation until its object is gone: the greater
//     of what it has and what it shall have. Nothing but its power state tells what is
//     charged as running.
//   - What only powers off, or changes nothing that is charged, is never refused.
//   - What cannot be told, as of an instance type that is not there, is refused where a
//     quota limits it, with the reason. It is never taken for nothing.
//   - A class cannot grow its virtual machines beyond a quota, nor an instance type of a
//     namespace those that have yet to capture it.
package quota
