// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package snapshot implements the virtctl command snapshot, which creates, lists and reverts to snapshots.
package snapshot

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
