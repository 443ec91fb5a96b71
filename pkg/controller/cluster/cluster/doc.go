// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster says of Clusters what their Machines wait for: whether the infrastructure is
// there and the API answers; and it deletes what belongs to a Cluster before it is gone.
//
// Guarantees:
//
//  1. The status is computed of facts that were read once in the pass. What could not be read
//     is not taken for what is not there, and takes nothing back.
//  2. What was reached once (infrastructure, control plane) stays reached.
//  3. Of the spec, controlPlaneEndpoint is written, if it is not set, as the contract has it.
//  4. A Cluster is deleted in steps: MachineDeployments, MachineSets and Machines, then the
//     control plane, then the infrastructure. None begins before the one before it has ended,
//     and the finalizer goes when the server itself says that nothing is left.
//  5. Nothing is polled: changes of what the Cluster refers to, of what belongs to it and of
//     the connection to it bring a pass. Status is written when it says something else only.
package cluster
