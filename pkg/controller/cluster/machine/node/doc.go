// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node decides what a Machine and its Node are to each other: what of the Machine
// goes to the Node, and what of the Node becomes conditions of the Machine. All of it is
// pure; who sends the patch, and reads the Node, is the controller.
//
// Guarantees:
//
//  1. A patch is made only when something of the Node differs, and carries its resource
//     version: what somebody else has changed meanwhile is not written over.
//  2. Labels, annotations and taints that did not come from the Machine stay as they are. What
//     came from it is written down on the Node, and goes when the Machine has it no more.
//  3. What could not be read changes nothing: a label, a taint or a condition about it
//     stays.
//  4. A taint that is put on at the beginning only is never put back.
package node
