// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster contains the controller of Clusters. It reports in the status what Machines wait for: whether the
// infrastructure is provisioned and the control plane can be reached. It also deletes the objects of a Cluster before
// the Cluster itself.
//
// The status is computed from a state that is read once per reconcile. An object that could not be read does not count
// as missing, and does not reset any status field. Once infrastructure or control plane are reported as initialized,
// they remain so.
//
// The only spec field that the controller writes is controlPlaneEndpoint, if it is not set, as the contract requires.
//
// A Cluster is deleted in steps: MachineDeployments, MachineSets and Machines first, then the control plane, then the
// infrastructure. A step begins when the previous one is complete. The finalizer is removed when the API server, not
// only the cache, returns no remaining objects.
//
// Changes of referenced objects, members and the connection trigger a reconcile. Only missing referenced objects are
// polled. The status is written only if it has changed.
package cluster
