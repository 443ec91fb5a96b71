// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package catalogue implements the virtctl command import, which converts catalogues of KubeVirt.
package catalogue

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
