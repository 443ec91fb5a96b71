// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package upgrade runs an older slipway-apiserver, this one, and the older one again on the same store, with real
// components and running virtual machines. make test-upgrade builds the older version.
package upgrade
