// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package top implements the virtctl command top, which shows what virtual machines and zones use.
package top

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
