// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage computes the capacity and usage of the simulated resource pools and clusters. govmomi's simulator
// never updates these values.
//
// The values follow the API documentation of the properties:
//
//   - maxUsage of a pool is the capacity of the hosts of its cluster, because no pool has a limit. overallUsage and
//     quickStats are sums over the powered-on virtual machines of the pool and its descendants. A guest uses all of
//     its memory and a tenth of each core.
//   - effectiveCpu of a cluster is in MHz over all cores, effectiveMemory in mebibytes.
//   - Values are updated a moment after a change. vCenter does it after many seconds.
package usage
