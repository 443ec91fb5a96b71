// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package publish implements the virtctl command publish, which publishes a virtual machine in a content library.
package publish

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
