// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package power has the power commands of virtctl, which start, stop, restart and suspend virtual machines and wait for them.
package power

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
