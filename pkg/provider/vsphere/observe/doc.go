// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe converts the properties of a vSphere virtual machine to its observed state, a
// provider.Observation. It does no I/O: the same properties result in the same observation.
//
// Values that vSphere keeps from an earlier run, such as the addresses of a powered-off guest, are not reported.
// Link-local, loopback and multicast addresses are never primary addresses.
package observe
