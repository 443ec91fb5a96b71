// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Program api measures the CPU time of a request in kube-apiserver, its etcd, and slipway-apiserver with its embedded
// etcd, for each verb of a VirtualMachine. It compares the same object as a custom resource of kube-apiserver. Rounds
// are interleaved, and the table shows medians.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/performance/running"
)

type settings struct {
	binDir                   string
	objects, rounds, reading int
	profile                  string
	etcd                     string
}

func main() {
	var s settings
	flag.StringVar(&s.binDir, "bin", "bin", "directory of the programs")
	flag.IntVar(&s.objects, "objects", 200, "objects that each verb is called on in a round")
	flag.IntVar(&s.rounds, "rounds", 5, "interleaved rounds")
	flag.IntVar(&s.reading, "reading", 5000, "objects that are listed and watched; 0 leaves that out")
	flag.StringVar(&s.profile, "profile", "", "directory for CPU profiles of slipway-apiserver by verb, of which a table is printed; nothing else is measured then")
	flag.StringVar(&s.etcd, "etcd", "", "directory to serve an etcd from, and nothing else; the program itself starts that")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	f := func() error { return run(ctx, s) }
	if s.etcd != "" {
		f = func() error { return serveEtcd(ctx, s.etcd) }
	}
	if err := f(); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp("", "slipway-api-")
	if err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := running.Hold(ctx, localcluster.SlipwayDataDir(dir)); err != nil {
		return err
	}
	etcd, endpoint, err := startEtcd(ctx, filepath.Join(dir, "host-etcd"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, etcd.Stop()) }()
	cluster, err := localcluster.Start(ctx, localcluster.Options{DataDir: dir, BinDir: s.binDir, UnsafeNoFsync: true, HostEtcd: endpoint})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	spent := func() (float64, error) {
		return processorTime(etcd.PID(), cluster.PID("kube-apiserver"), cluster.PID("slipway-apiserver"))
	}
	ways, err := waysOf(ctx, cluster, spent)
	if err != nil {
		return err
	}
	if s.profile != "" {
		direct := ways[len(ways)-1]
		profiles, err := direct.profile(ctx, cluster, s.profile)
		if err != nil {
			return fmt.Errorf("%s: %w", direct.name, err)
		}
		printProfiles(os.Stdout, direct.name, profiles)
		return nil
	}
	costs := newCosts()
	if s.reading > 0 {
		if err := prepareReading(ctx, cluster, ways, s.reading); err != nil {
			return err
		}
	}
	for round := range s.rounds {
		for i := range ways {
			// The ways take turns in being first, because garbage of one is collected during the next.
			w := ways[(i+round)%len(ways)]
			fmt.Fprintf(os.Stderr, "round %d: %s\n", round+1, w.name)
			if err := w.measure(ctx, costs, s, round); err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			if s.reading > 0 {
				if err := w.measureReading(ctx, costs, s.reading); err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
			}
		}
	}
	costs.print(os.Stdout, ways)
	return nil
}
