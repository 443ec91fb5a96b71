// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain empties the Node of a Machine before the Machine is deleted: it cordons
// the Node and evicts its Pods, group after group, as labels of Pods and
// MachineDrainRules say.
//
// Guarantees:
//
//  1. What happens to a Pod is decided by a pure function over what was read (NewPlan).
//     The same plan tells which claims a detach does not wait for, and what a drain would
//     do.
//  2. Pods go by the Eviction API alone, one at a time, and only the very Pod that was
//     seen: one that has since been made again under its name stays. Nothing overrides a
//     PodDisruptionBudget.
//  3. One pass evicts for at most MaxEviction, and the next one begins with another Pod,
//     so that no Pod that takes long keeps the others from being tried.
//  4. What cannot be told of one Pod, as by a rule whose selector is invalid or a DaemonSet
//     that could not be read, keeps that Pod alone where it is, and is said. Rules that
//     are not for the Machine or the Pod do no harm, whatever is in them.
//  5. Pods are read from the API of the workload cluster, in pages, by the name of the
//     Node; they are never cached. A Node that could not be read is not taken for gone.
//     How much is read, and for how long, is bounded: the server may be anybody's.
//  6. A message names at most three Pods for each cause and has a bound; why a drain lasts
//     is also given as values (Cause), so that nobody searches in texts.
//
// A Pod that is to be waited for is done with when it has succeeded or failed, whether or
// not its object is still there.
package drain
