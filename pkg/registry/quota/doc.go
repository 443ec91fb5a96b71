// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quota measures what virtual machines are charged in ResourceQuotas of the management cluster. The admission
// plugin of the API server library charges requests, and a controller recalculates the usage.
//
// Guarantees:
//   - A virtual machine is charged until its object is deleted. The charge is the greater of its current and its
//     desired size. Only the power state determines whether it is charged as running.
//   - A request that only powers a virtual machine off, or does not change the charge, is never rejected.
//   - If a size is unknown, for example because the instance type does not exist, a request that a quota limits is
//     rejected with the reason. An unknown size is never counted as zero.
//   - Changing a class, or an instance type that virtual machines have not yet pinned, cannot let virtual machines
//     exceed a quota.
package quota
