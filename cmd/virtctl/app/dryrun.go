// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Values of --dry-run, which kubectl has too. There is nothing to be tried without
// the server, so that kubectl's client is none of them.
const (
	dryRunNone   = "none"
	dryRunServer = "server"
)

// dryRun is the flag --dry-run: alone it means server.
type dryRun string

// addFlag adds it with the usage text.
func (d *dryRun) addFlag(cmd *cobra.Command, usage string) {
	*d = dryRunNone
	cmd.Flags().Var(d, "dry-run", usage)
	cmd.Flags().Lookup("dry-run").NoOptDefVal = dryRunServer
	completeFixed(cmd, "dry-run", dryRunNone, dryRunServer)
}

// Set implements pflag.Value. The truth values are those of older scripts.
func (d *dryRun) Set(value string) error {
	switch value {
	case dryRunServer, "true":
		*d = dryRunServer
	case dryRunNone, "false":
		*d = dryRunNone
	default:
		return fmt.Errorf("use one of %s, %s", dryRunNone, dryRunServer)
	}
	return nil
}

// String implements pflag.Value.
func (d *dryRun) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *dryRun) Type() string { return "string" }

func (d *dryRun) on() bool { return *d == dryRunServer }

// options are those of a request.
func (d *dryRun) options() []string {
	if !d.on() {
		return nil
	}
	return []string{metav1.DryRunAll}
}
