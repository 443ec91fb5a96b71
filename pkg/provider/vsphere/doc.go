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
// A record may be older than what vSphere has: the stream lags, and while it is
// lost the last record stands. What is planned by it does no harm. A power
// operation on a VM that is in the state already is a success; a value is set to
// what is wanted; devices change only if vSphere still has the configuration that
// the change was computed from; and what is destroyed is read again first. That a
// VM is absent is never concluded from a record.
//
// An operation that fails is not repeated before a pause that grows with the
// number of failures, unless what is asked for has changed in the meantime.
package vsphere
