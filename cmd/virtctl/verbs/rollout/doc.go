// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rollout has the command rollout of virtctl, which shows and changes rollouts of MachineDeployments.
package rollout

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
