// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package refresh implements the virtctl command refresh, which pins the newest revision of an instance type or preference.
package refresh

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
