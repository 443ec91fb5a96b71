// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image makes the container image of the server for all its platforms, with no
// container engine: the program, the roots that a browser trusts, and nothing to log in to.
//
// Guarantee: the same programs, version and time give the same digest. The image runs as
// a user that is a number, so that Kubernetes can tell that it is not root.
package image
