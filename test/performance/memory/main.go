// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Program memory measures the memory of slipway-apiserver with many virtual machines: the heap after a collection,
// and the resident memory without mapped files such as the database of the embedded etcd. The virtual machines and
// their instances have the content of running ones, and are paused, so that neither vSphere nor its simulator is
// measured. All controllers run. The server is restarted before the measurement, so that memory used for creating the
// objects is not included.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/performance/pages"
	"github.com/slipway-dev/slipway/test/performance/proc"
	"github.com/slipway-dev/slipway/test/performance/running"
)

// part is the measured process.
const part = "slipway-apiserver"

type settings struct {
	binDir      string
	machines    int
	after       []time.Duration
	slipwayArgs []string
	profile     string
	starts      int
	data        string
}

func main() {
	s, err := parse()
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

func parse() (settings, error) {
	var s settings
	var after, slipwayArgs string
	flag.StringVar(&s.binDir, "bin", "bin", "directory of the programs")
	flag.IntVar(&s.machines, "machines", 20_000, "virtual machines that there are")
	flag.StringVar(&after, "after", "1m,10m", "times after a start to measure at")
	flag.IntVar(&s.starts, "starts", 1, "starts to measure; 0 measures the process that has made them, from their creation on")
	flag.StringVar(&slipwayArgs, "slipway-args", "", "more arguments for slipway-apiserver, separated by blanks; GOGC and GOMEMLIMIT are taken from the environment")
	flag.StringVar(&s.data, "data", "", "directory that keeps the data; data of an earlier run is measured again")
	flag.StringVar(&s.profile, "profile", "", "file for a profile of the heap at the end")
	flag.Parse()
	s.slipwayArgs = strings.Fields(slipwayArgs)
	for _, text := range strings.Split(after, ",") {
		d, err := time.ParseDuration(text)
		if err != nil {
			return s, fmt.Errorf("-after: %w", err)
		}
		s.after = append(s.after, d)
	}
	return s, nil
}

func run(ctx context.Context, s settings) (err error) {
	dir := s.data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "slipway-memory-"); err != nil {
			return fmt.Errorf("making the data directory: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	store := localcluster.SlipwayDataDir(dir)
	_, statErr := os.Stat(store)
	empty := os.IsNotExist(statErr)
	if empty {
		if err := running.Hold(ctx, store); err != nil {
			return err
		}
	}
	cluster, err := localcluster.Start(ctx, localcluster.Options{DataDir: dir, BinDir: s.binDir, UnsafeNoFsync: true, SlipwayArgs: s.slipwayArgs})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	config, err := cluster.DirectConfig("slipway-bench", "system:masters")
	if err != nil {
		return err
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := versioned.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	server, err := pages.NewSource(config)
	if err != nil {
		return err
	}
	if begin := time.Now(); empty {
		if err := running.Fill(ctx, client, s.machines); err != nil {
			return err
		}
		progress("%d virtual machines made in %s", s.machines, time.Since(begin).Round(time.Second))
	}
	if err := running.Release(ctx, store); err != nil {
		return err
	}
	if err := running.Idle(ctx, server); err != nil { // controllers write once that the objects are paused
		return err
	}
	fmt.Printf("| %d VMs, %s | since | resident, anonymous | heap after GC | CPU since the start |\n| --- | ---: | ---: | ---: | ---: |\n", s.machines, strings.Join(s.slipwayArgs, " "))
	if s.starts == 0 {
		if err := s.measureOn(ctx, server, cluster, time.Now()); err != nil {
			return err
		}
	}
	for range s.starts {
		if err := cluster.RestartSlipway(ctx); err != nil {
			return err
		}
		started := time.Now()
		if err := running.Idle(ctx, server); err != nil {
			return err
		}
		progress("passes over all done after %s", time.Since(started).Round(100*time.Millisecond))
		if err := s.measureOn(ctx, server, cluster, started); err != nil {
			return err
		}
	}
	if s.profile == "" {
		return nil
	}
	return server.KeepProfile(ctx, "heap?gc=1", s.profile)
}

// measureOn measures at each time after began.
func (s settings) measureOn(ctx context.Context, server pages.Source, cluster *localcluster.Cluster, began time.Time) error {
	for _, after := range s.after {
		if err := running.Pause(ctx, time.Until(began.Add(after))); err != nil {
			return err
		}
		if err := measure(ctx, server, cluster.PID(part), after); err != nil {
			return err
		}
	}
	return nil
}

// measure prints the current memory of the process. The resident memory is read first, because the collection before
// the heap is read would change it.
func measure(ctx context.Context, server pages.Source, pid int, after time.Duration) error {
	anonymous, _, err := proc.Resident(pid)
	if err != nil {
		return err
	}
	spent, err := proc.CPUTime(pid)
	if err != nil {
		return err
	}
	heap, err := server.Heap(ctx)
	if err != nil {
		return err
	}
	const mb = 1e6
	fmt.Printf("| | %s | %.0f MB | %.0f MB | %.1f s |\n", after, anonymous/mb, heap/mb, spent.Seconds())
	return nil
}

// progress prints progress messages to standard error; the table is on standard output.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
