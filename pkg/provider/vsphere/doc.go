// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vsphere is the provider for VMware vSphere. It and the packages below
// it are the only ones of the product that talk to vCenter.
//
// A pass looks at the inventory, plans by pure functions, and starts at most
// one operation, which runs away from the caller; the end of the operation and
// what changes in vSphere come back as hints. A pass over a virtual machine
// that is as desired asks vSphere nothing.
//
// An operation that fails is not repeated before a pause that grows with the
// number of failures, unless what is asked for has changed in the meantime.
package vsphere
