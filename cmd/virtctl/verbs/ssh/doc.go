// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ssh implements the virtctl command ssh, which connects to a virtual machine with ssh.
package ssh

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
