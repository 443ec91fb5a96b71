// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery loses the store of the server, or puts an older one in its place, and
// wants all virtual machines back as they were, by virtctl recover.
package recovery
