// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/test/localcluster"
)

func newStatus(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the running programs; exit status 1 if any is missing",
		Args:  cobra.NoArgs,
		RunE: g.runE(func(ctx context.Context, out io.Writer) error {
			s, err := localcluster.Inspect(ctx, g.dataDir)
			if err != nil {
				return err
			}
			if s.PID == 0 {
				return fmt.Errorf("no environment is running in %s", g.dataDir)
			}
			return printStatus(out, g.dataDir, s)
		}),
	}
}

// printStatus returns an error if a program is missing.
func printStatus(out io.Writer, dataDir string, s localcluster.Status) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintf(w, "environment\trunning, process %d\n", s.PID)
	for _, server := range s.Servers {
		state := "listening"
		if !server.Listening {
			state = "not listening"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", server.Name, state, server.Address)
	}
	apis := "available"
	if s.APIs != "" {
		apis = s.APIs
	}
	_, _ = fmt.Fprintf(w, "APIs\t%s\n", apis)
	_, _ = fmt.Fprintf(w, "kubeconfig\t%s\n", localcluster.AdminKubeconfig(dataDir))
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	if missing := len(s.Missing()); missing > 0 {
		return fmt.Errorf("%d of %d programs are not running; see the logs in %s", missing, len(s.Servers)+1, localcluster.LogDir(dataDir))
	}
	return nil
}
