// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout implements the virtctl command rollout, which shows and changes rollouts of MachineDeployments.
package rollout

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
