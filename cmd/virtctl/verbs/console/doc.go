// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package console implements the virtctl command console and screenshot, which show the console of a virtual machine.
package console

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
