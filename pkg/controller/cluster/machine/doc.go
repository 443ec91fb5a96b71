// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine contains the controller of Machines. It copies bootstrap data and infrastructure state to Machines,
// finds their Nodes, and deletes these objects in order. docs/reference/machines.md describes it for users, with the differences
// from Cluster API.
//
// # Reconciliation
//
// A reconcile reads its inputs once and runs every step, even if another step has failed. It then computes the
// conditions and the phase, and writes metadata and status at most once each, and only if they have changed. A
// concurrent change by another client is a conflict, which is resolved by another reconcile.
//
// Of referenced objects only the contract is used (pkg/cluster/contract). The Machine becomes the controller of an
// object before its state is used.
//
// No worker waits for a workload cluster that does not answer. Without a connection, the Machine waits for the
// connection event. During a drain or a volume detach, events are ignored for 20 seconds, except changes of the Machine
// or its Cluster. Hooks are not polled. When a Cluster is paused, unpaused or deleted, its Machines are reconciled
// immediately.
//
// # Deletion
//
// A deletion is a sequence of stages. The current stage and its start are persisted, and no stage is repeated. An
// object that could not be read does not count as deleted.
//
// Only objects of the Machine are deleted. An object that another owner controls is not deleted. Neither is a Node if
// another machine has registered under its name.
package machine
