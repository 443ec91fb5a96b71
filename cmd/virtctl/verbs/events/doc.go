// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events implements the virtctl command events, which lists events of virtual machines.
package events

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
