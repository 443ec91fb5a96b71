// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command machines measures the cost of Machines from their creation to their Nodes, and then while idle. It measures
// those of Slipway, or those of the real Cluster API, with the same objects. It prints a markdown table.
//
// The infrastructure of the machines is a kind of its own in the management cluster, which this program provisions.
// No virtual machine is created, so only the controllers of Machines are measured. The clusters are one real
// kube-apiserver behind as many kubeconfigs. Writes of a Machine are events of a watch, requests are counted by the
// servers, CPU time is from /proc.
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
	flag.IntVar(&s.machines, "machines", 1000, "Machines to create together")
	flag.IntVar(&s.clusters, "clusters", 10, "Clusters that they are in")
	flag.StringVar(&s.manager, "manager", slipway, "controller to measure: "+slipway+" or "+clusterAPI+", which requires hack/build-cluster-api.sh")
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
	// Requests of the servers to themselves are not counted for the Machines.
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
	asked, err := e.countReads(begin, time.Now())
	if err != nil {
		return err
	}
	e.print(counted, quiet, steady, e.machines.total()-before, asked)
	return nil
}

// progress prints progress messages to standard error; the table is on standard output.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
