// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dashboard implements the virtctl command dashboard, which serves the web dashboard.
package dashboard

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
