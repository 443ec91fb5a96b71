// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drainplan implements the virtctl command drain-plan, which prints what a drain of a Machine would do.
package drainplan

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
