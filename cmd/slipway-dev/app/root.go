// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/test/vcenter"
)

// globals are the flags of all commands that manage the environment.
type globals struct {
	dataDir string
	binDir  string
}

// Main runs the command line and returns the exit status.
func Main(args []string, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(errOut)
	if err := root.ExecuteContext(context.Background()); err != nil {
		_, _ = fmt.Fprintln(errOut, "slipway-dev:", err)
		return 1
	}
	return 0
}

func newRoot() *cobra.Command {
	g := &globals{}
	root := &cobra.Command{
		Use:   "slipway-dev",
		Short: "Run a complete Slipway environment on this machine",
		Long: `slipway-dev runs kube-apiserver with its etcd, kube-controller-manager, a simulated
vCenter and slipway-apiserver on the loopback interface, with generated certificates.
The state is kept in the data directory between runs.`,
		SilenceUsage: true, SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&g.dataDir, "data-dir", ".slipway", "directory of the state")
	root.PersistentFlags().StringVar(&g.binDir, "bin-dir", "", "directory of the binaries (default: that of slipway-dev)")
	root.AddCommand(newRun(g), newUp(g), newDown(g), newStatus(g), newReset(g), vcenter.NewCommand())
	return root
}

// command is the function of a command, called with complete flags.
type command func(ctx context.Context, out io.Writer) error

// runE completes the flags and runs f with a context that the first interrupt cancels. A second interrupt ends the
// process immediately.
func (g *globals) runE(f command) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := g.resolve(); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		context.AfterFunc(ctx, stop)
		return f(ctx, cmd.OutOrStdout())
	}
}

// resolve makes the directories absolute and sets the default of --bin-dir.
func (g *globals) resolve() error {
	if g.dataDir == "" {
		return errors.New("--data-dir must not be empty")
	}
	var err error
	if g.dataDir, err = filepath.Abs(g.dataDir); err != nil {
		return fmt.Errorf("--data-dir: %w", err)
	}
	if g.binDir == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("locating the directory of slipway-dev: %w", err)
		}
		g.binDir = filepath.Dir(self)
	}
	return nil
}
