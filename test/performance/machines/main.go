// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command machines measures what Machines cost from their creation to their Nodes, and
// then while nothing happens: those of Slipway, or those of the real Cluster API, with the
// same objects. It prints a markdown table.
//
// The infrastructure of the machines is a kind of its own in the host cluster, which this
// program provisions, so that no virtual machine is made and nothing but the controllers of
// Machines is measured. The clusters are one real kube-apiserver behind as many kubeconfigs.
// Writes of a Machine are the events of a watch, requests what the servers count, CPU time
// is from /proc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// settings are the flags.
type settings struct {
	binDir             string
	machines, clusters int
	manager            string
	steady             time.Duration
	limit              time.Duration
	keep               bool
}

func main() {
	var s settings
	flag.StringVar(&s.binDir, "bin", "bin", "directory of the programs")
	flag.IntVar(&s.machines, "machines", 1000, "Machines to create at once")
	flag.IntVar(&s.clusters, "clusters", 10, "Clusters that they are in")
	flag.StringVar(&s.manager, "manager", slipway, "who controls them: "+slipway+" or "+clusterAPI+", which needs hack/build-cluster-api.sh before")
	flag.DurationVar(&s.steady, "steady", time.Minute, "time to measure in which nothing happens")
	flag.DurationVar(&s.limit, "limit", 15*time.Minute, "longest time until all have their Nodes")
	flag.BoolVar(&s.keep, "keep", false, "keep data and logs")
	flag.Parse()
	err := s.check()
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (s settings) check() error {
	if s.manager != slipway && s.manager != clusterAPI {
		return fmt.Errorf("-manager %q: must be %s or %s", s.manager, slipway, clusterAPI)
	}
	if s.machines < 1 || s.clusters < 1 || s.clusters > s.machines {
		return errors.New("-machines and -clusters must be positive, and every cluster needs a machine")
	}
	return nil
}

func run(ctx context.Context, s settings) (err error) {
	e, err := start(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = e.stop(err) }()
	// What the servers ask themselves for is not the Machines'.
	quiet, err := e.window(ctx, s.steady)
	if err != nil {
		return err
	}
	counted, err := e.create(ctx)
	if err != nil {
		return err
	}
	progress("all have their Nodes; waiting until nothing is written any more")
	if err := e.settle(ctx); err != nil {
		return err
	}
	before := e.machines.total()
	begin := time.Now()
	steady, err := e.window(ctx, s.steady)
	if err != nil {
		return err
	}
	asked, err := e.asked(begin, time.Now())
	if err != nil {
		return err
	}
	e.print(counted, quiet, steady, e.machines.total()-before, asked)
	return nil
}

// progress tells people what goes on; the table is on standard output.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
