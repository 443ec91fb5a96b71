// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade lets an older slipway-apiserver, this one, and the older one again serve one
// store, with the real parts and running virtual machines. make test-upgrade builds the older one.
package upgrade
