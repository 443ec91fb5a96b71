// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package image implements the virtctl command image, which lists, describes and imports images.
package image

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
