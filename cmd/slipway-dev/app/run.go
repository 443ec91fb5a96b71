// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-dev/slipway/test/localcluster"
)

type runOptions struct {
	*globals
	noQuickstart  bool
	unsafeNoFsync bool
	vcenters      int
	notifyFD      int
}

func newRun(g *globals) *cobra.Command {
	o := &runOptions{globals: g}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the environment in the foreground until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: g.runE(func(ctx context.Context, w io.Writer) error {
			out, err := newReport(w, o.notifyFD)
			if err != nil {
				return err
			}
			if err = o.run(ctx, out); errors.Is(err, errInterrupted) {
				err = nil
			}
			return errors.Join(err, out.finish(err))
		}),
	}
	o.addFlags(cmd)
	cmd.Flags().IntVar(&o.notifyFD, "notify-fd", 0, "file descriptor for progress reports")
	_ = cmd.Flags().MarkHidden("notify-fd")
	return cmd
}

// addFlags adds the common flags of run and up.
func (o *runOptions) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.noQuickstart, "no-quickstart", false, "do not create the quick start objects in the first run")
	cmd.Flags().IntVar(&o.vcenters, "vcenters", 1, "number of simulated vCenters; each has two zones")
	cmd.Flags().BoolVar(&o.unsafeNoFsync, "unsafe-no-fsync", false, "do not sync data to disk; a crash of the machine may lose data")
}

// errInterrupted is returned by run when the user interrupted it.
var errInterrupted = errors.New("interrupted")

func (o *runOptions) run(ctx context.Context, out *report) error {
	begin := time.Now()
	out.printf("starting in %s", o.dataDir)
	stopProgress := sync.OnceFunc(out.heartbeat("start"))
	defer stopProgress()
	cluster, err := localcluster.Start(ctx, localcluster.Options{
		DataDir: o.dataDir, BinDir: o.binDir, UnsafeNoFsync: o.unsafeNoFsync, Progress: out.step,
		Zones: true, VCenters: o.vcenters, VCenterObjects: true, ForeignVMs: true,
	})
	if err != nil {
		if ctx.Err() != nil {
			out.printf("interrupted during start: everything is stopped")
			return errInterrupted
		}
		return err
	}
	return errors.Join(o.serve(ctx, cluster, out, begin, stopProgress), stop(cluster, out))
}

// serve creates the quick start objects in the first run, calls stopProgress and waits until the environment ends.
func (o *runOptions) serve(ctx context.Context, cluster *localcluster.Cluster, out *report, begin time.Time, stopProgress func()) error {
	table, err := o.quickstart(ctx, cluster, out)
	stopProgress()
	if err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	out.printf("ready after %.1f s\n", time.Since(begin).Seconds())
	o.printNext(out, table)
	if err := out.ready(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return errInterrupted
	case err := <-cluster.Failed():
		return err
	}
}

func stop(cluster *localcluster.Cluster, out *report) error {
	begin := time.Now()
	defer out.heartbeat("stop")()
	err := cluster.Stop()
	out.step("everything stopped", time.Since(begin))
	return err
}

// printNext prints example commands that have results in this environment.
func (o *runOptions) printNext(w io.Writer, table string) {
	restart := ""
	if hasQuickstart(table) {
		restart = "  virtctl restart web-1\n"
	}
	_, _ = fmt.Fprintf(w, `try next, in another shell:
  export KUBECONFIG=%s PATH=%s:$PATH
  kubectl get vm,vmi -A -o wide
  kubectl get vcenters,zones
  kubectl explain vm.spec.instancetype
%s`, localcluster.ShellWord(localcluster.AdminKubeconfig(o.dataDir)), localcluster.ShellWord(o.binDir), restart)
	if o.notifyFD == 0 {
		_, _ = fmt.Fprintln(w, "Ctrl-C stops everything; the next run continues with this state.")
	}
}
