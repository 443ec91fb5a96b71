// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node computes the synchronization between a Machine and its Node: which labels, annotations and taints are
// copied to the Node, and which conditions the Machine has. Its functions are pure; the controller reads and patches
// the Node.
//
// A patch is created only if the Node differs. It contains the resource version, so that it does not overwrite
// concurrent changes.
//
// Labels, annotations and taints that did not come from the Machine remain unchanged. Those that did are recorded on
// the Node, and are removed when they are removed from the Machine. A taint that is only set at initialization is never
// set again.
//
// If a value could not be read, the labels, taints and conditions that depend on it remain unchanged.
package node
