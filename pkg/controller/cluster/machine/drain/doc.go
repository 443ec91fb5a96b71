// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain drains the Node of a Machine before the Machine is deleted. It cordons the Node and evicts its Pods in
// groups, according to labels of Pods and to MachineDrainRules.
//
// # Decisions
//
// NewPlan computes the treatment of all Pods from data that was read before. The same plan is used by detach, to
// exclude claims of skipped Pods, and by DryRun.
//
// If the behavior of a Pod cannot be determined, only this Pod is blocked, and the message names it. Examples are a
// rule with an invalid selector and a DaemonSet that could not be read. Invalid rules that do not apply to the Machine
// or Pod have no effect.
//
// A Pod with the behavior WaitCompleted is complete when it has succeeded or failed, even if it still exists.
//
// # Evictions
//
// Pods are removed only with the Eviction API, one at a time, so PodDisruptionBudgets are respected. The UID in the
// request prevents the eviction of a recreated Pod. One reconcile evicts for at most MaxEviction, and the next one
// starts with another Pod, so that a slow eviction does not delay all others.
//
// # Reads
//
// Pods are listed from the API of the workload cluster in pages, by the name of the Node, and are not cached. A Node
// that could not be read does not count as deleted. The amount and time of reads are limited, because the server is not
// trusted.
//
// A message names at most three Pods for each cause, and its length is limited. The causes are also returned as values
// (Cause).
package drain
