// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install implements the virtctl commands install and uninstall, which apply and delete the server's
// manifests.
package install

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
