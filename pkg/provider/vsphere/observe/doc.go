// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package observe turns the properties of a vSphere virtual machine into its
// observed state, a provider.Observation. It is pure: the same properties give the
// same observation.
//
// What vSphere keeps of an earlier run, such as the addresses of a powered-off
// guest, is not reported. Link-local, loopback and multicast addresses are
// never primary.
package observe
