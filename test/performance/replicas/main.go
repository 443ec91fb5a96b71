// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Program replicas measures what three replicas with the embedded etcd cost beside one: how
// long create, update, get and list take, the processor time of all replicas together for a
// request, their memory, and what they spend when nobody asks. Both run at the same time, each
// with a host cluster of its own, and rounds are interleaved. Requests go straight to the
// replicas, by turns, as over a Service. The controllers wait meanwhile. With -grows one that may
// grow, as it is shipped, takes the place of the three.
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
	"time"
)

type settings struct {
	binDir, data             string
	objects, rounds, reading int
	idle                     time.Duration
	noFsync, grows           bool
}

func main() {
	var s settings
	flag.StringVar(&s.binDir, "bin", "bin", "directory of the programs")
	flag.StringVar(&s.data, "data", "", "directory on the disk that is measured; empty for the default of temporary files")
	flag.IntVar(&s.objects, "objects", 500, "objects that each verb is called on in a round")
	flag.IntVar(&s.rounds, "rounds", 5, "interleaved rounds")
	flag.IntVar(&s.reading, "reading", 2000, "objects that are listed")
	flag.DurationVar(&s.idle, "idle", time.Minute, "how long nobody asks, at the end")
	flag.BoolVar(&s.noFsync, "no-fsync", false, "acknowledge before data is on disk, to leave the disk out")
	flag.BoolVar(&s.grows, "grows", false, "instead of three replicas measure one that may grow to three")
	flag.Parse()
	if s.objects < 1 || s.rounds < 1 || s.reading < 0 {
		fmt.Fprintf(os.Stderr, "replicas: -objects %d and -rounds %d must be at least 1, -reading %d at least 0\n", s.objects, s.rounds, s.reading)
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "replicas:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp(s.data, "slipway-replicas-")
	if err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var all []*deployment
	defer func() {
		for _, d := range all {
			err = errors.Join(err, d.stop())
		}
	}()
	for i, n := range []int{1, 3} {
		grows := i > 0 && s.grows
		if grows {
			n = 1
		}
		progress("starting %d", n)
		d, err := deploy(ctx, s, filepath.Join(dir, fmt.Sprint(i)), n, grows)
		if d != nil {
			all = append(all, d)
		}
		if err != nil {
			return err
		}
		if err := d.fill(ctx, s.reading); err != nil {
			return err
		}
	}
	r := newReport()
	for round := range s.rounds {
		for i := range all {
			d := all[(i+round)%len(all)]
			progress("round %d of %d: %s", round+1, s.rounds, d.name)
			if err := d.measure(ctx, r, s, round); err != nil {
				return fmt.Errorf("%s: %w", d.name, err)
			}
		}
	}
	progress("nobody asks for %s", s.idle)
	if err := atRest(ctx, r, all, s.idle); err != nil {
		return err
	}
	r.print(os.Stdout, all)
	return nil
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
