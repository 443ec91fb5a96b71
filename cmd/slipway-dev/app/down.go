// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/test/localcluster"
)

// downTimeout exceeds the sum of the timeouts after which the programs are killed.
const downTimeout = time.Minute

func newDown(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the environment and keep its state",
		Args:  cobra.NoArgs,
		RunE: g.runE(func(ctx context.Context, out io.Writer) error {
			return down(ctx, g.dataDir, out)
		}),
	}
}

// down returns no error if no environment is running.
func down(ctx context.Context, dataDir string, out io.Writer) error {
	pid, err := localcluster.Running(dataDir)
	if err != nil {
		return err
	}
	if pid == 0 {
		_, _ = fmt.Fprintf(out, "no environment is running in %s\n", dataDir)
		return nil
	}
	begin := time.Now()
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signalling process %d: %w", pid, err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- localcluster.WaitStopped(dataDir) }()
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	select {
	case err := <-stopped:
		if err == nil {
			_, _ = fmt.Fprintf(out, "stopped after %.1f s\n", time.Since(begin).Seconds())
		}
		return err
	case <-ctx.Done():
		return fmt.Errorf("waiting for process %d to end: %w; see the logs in %s", pid, ctx.Err(), localcluster.LogDir(dataDir))
	}
}

func newReset(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "reset",
		Short: "Stop the environment and remove its state",
		Args:  cobra.NoArgs,
		RunE: g.runE(func(ctx context.Context, out io.Writer) error {
			if err := down(ctx, g.dataDir, out); err != nil {
				return err
			}
			removed, err := localcluster.Reset(g.dataDir)
			if removed {
				_, _ = fmt.Fprintf(out, "removed %s\n", g.dataDir)
			}
			return err
		}),
	}
}
