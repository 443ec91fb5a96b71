// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Values of --dry-run, as in kubectl. The value client is not supported because only the server can validate a
// request.
const (
	dryRunNone   = "none"
	dryRunServer = "server"
)

// DryRun is the flag --dry-run. Without a value it means server.
type DryRun string

// AddFlag adds the flag with the usage text.
func (d *DryRun) AddFlag(cmd *cobra.Command, usage string) {
	*d = dryRunNone
	cmd.Flags().Var(d, "dry-run", usage)
	cmd.Flags().Lookup("dry-run").NoOptDefVal = dryRunServer
	CompleteFixed(cmd, "dry-run", dryRunNone, dryRunServer)
}

// Set implements pflag.Value. The truth values are those of older scripts.
func (d *DryRun) Set(value string) error {
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
func (d *DryRun) String() string { return string(*d) }

// Type implements pflag.Value.
func (d *DryRun) Type() string { return "string" }

// On reports whether dry run is enabled.
func (d *DryRun) On() bool { return *d == dryRunServer }

// Options returns the dryRun option of a request.
func (d *DryRun) Options() []string {
	if !d.On() {
		return nil
	}
	return []string{metav1.DryRunAll}
}
