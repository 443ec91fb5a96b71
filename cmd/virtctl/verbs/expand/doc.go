// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package expand implements the virtctl command expand, which prints a virtual machine with its instance type and preference applied.
package expand

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
