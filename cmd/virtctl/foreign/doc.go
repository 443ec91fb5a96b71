// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package foreign reads virtual machines that are in a vCenter and belong to nobody here,
// and describes them as objects that take them over.
//
// Guarantees: it reads, and changes nothing in vCenter. A manifest says what the VM has, so
// that it changes nothing of it; what it changes all the same is told by the code that would
// change it, the provider's. Whatever a manifest leaves out is named. Everything but the
// reading is pure.
package foreign
