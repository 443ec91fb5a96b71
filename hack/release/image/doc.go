// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image creates the container image of the server for all its platforms without a container engine. The image
// contains the program and root certificates, and no shell.
//
// Guarantee: the same programs, version and time result in the same digest. The user of the image is numeric, so that
// Kubernetes can verify that it is not root.
package image
