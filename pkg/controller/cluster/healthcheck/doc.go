// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package healthcheck contains the controller of MachineHealthChecks. It reports unhealthy Machines in their conditions
// and requests their remediation.
//
// The result of a check is computed from the Machine, its Cluster, its Node, the MachineHealthCheck and the current
// time only. The controller does not poll. It reconciles again when the timeout of a condition ends.
//
// While a workload cluster is not connected, its Nodes are unknown and are not evaluated. A Node that cannot be read
// does not count as deleted.
//
// Machines that are neither healthy nor unhealthy count as unhealthy when the controller decides whether remediation is
// allowed. If more Machines are unhealthy than the check allows, the cause is probably not in the Machines.
//
// The controller writes the conditions HealthCheckSucceeded and ExternallyRemediated of a Machine. It writes
// OwnerRemediated only if the owner has not set it yet. It writes them only if they have changed, and only with the
// resource version that was read.
//
// A remediation request is created once, with the name of its Machine. It is deleted when the Machine is healthy again.
//
// If several checks select a Machine, they all write the same result: that of the first check, by name, that finds the
// Machine unhealthy. A check requests remediation only for its own result.
package healthcheck
