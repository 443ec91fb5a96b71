// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package foreign reads VMs in a vCenter that Slipway does not manage, and describes them as objects that adopt
// them.
//
// Guarantees: the package changes nothing in vCenter. A manifest repeats the VM's settings, so that adoption does
// not change them. Remaining changes are computed with the provider's code. Every omission from a manifest is
// reported. All functions except those that read vCenter are pure.
package foreign
