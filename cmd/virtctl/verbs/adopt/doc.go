// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Package adopt implements the virtctl command adopt, which adopts vSphere VMs as VirtualMachines and confirms
// copies.
package adopt

import "github.com/slipway-dev/slipway/cmd/virtctl/cli"

// command is one run, with the cluster and the streams of its user.
type command struct{ *cli.Factory }
