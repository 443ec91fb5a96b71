// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package install has the commands install and uninstall of virtctl, which apply the manifests of the server and remove them.
package install

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
