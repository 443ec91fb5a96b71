// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package imagecache tests the controller of image caches between the real server and the
// real provider with a simulated vCenter.
package imagecache
