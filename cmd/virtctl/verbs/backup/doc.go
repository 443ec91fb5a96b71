// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package backup has the command backup of virtctl, which saves the store of the server.
package backup

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
