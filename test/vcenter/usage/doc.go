// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package usage keeps what the simulated resource pools and clusters say of their capacity
// and use: govmomi's simulator leaves all of it as it is in a template.
//
// Guarantees, which are what the documentation of the API says of the properties:
//
//   - maxUsage of a pool is what the hosts of its cluster have, as none has a limit;
//     overallUsage and quickStats are the sums over the virtual machines that are powered on
//     in it and in the pools below. A guest is taken to use all of its memory, and a tenth of
//     each core.
//   - effectiveCpu of a cluster is in MHz over all cores, effectiveMemory in mebibytes.
//   - It is brought up to date a moment after a change, as vCenter does after many seconds.
package usage
