// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Program sizing measures the cost of a number of virtual machines: memory of slipway-apiserver and of the management
// cluster, disk, a restart, reading and writing. The virtual machines and their instances have the content of running
// ones, and are paused, so that neither vSphere nor its simulator is measured. All controllers run. docs/reference/sizing.md
// contains the results.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/performance/pages"
	"github.com/slipway-dev/slipway/test/performance/proc"
	"github.com/slipway-dev/slipway/test/performance/running"
)

// settled is the time between a start and the measurement of memory, because memory for the start is released after a
// minute.
const settled = 90 * time.Second

func main() {
	binDir := flag.String("bin", "bin", "directory of the programs")
	sizes := flag.String("machines", "1000,10000,50000", "numbers of virtual machines, each measured in an environment of its own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var all []*result
	for _, text := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fmt.Fprintf(os.Stderr, "sizing: -machines: %q: must be numbers above 0, with commas between them\n", *sizes)
			os.Exit(2)
		}
		r, err := measure(ctx, *binDir, n)
		if err != nil {
			fmt.Fprintf(os.Stderr, "sizing: %d virtual machines: %v\n", n, err)
			os.Exit(1)
		}
		all = append(all, r)
	}
	print(all)
}

// bench is an environment with n virtual machines.
type bench struct {
	n       int
	cluster *localcluster.Cluster
	// direct connects to the server itself, through the aggregator.
	direct, through *rest.Config
	client          *versioned.Clientset
	server          pages.Source
	result          result
}

// measure creates its own environment and measures it.
func measure(ctx context.Context, binDir string, n int) (_ *result, err error) {
	dir, err := os.MkdirTemp("", "slipway-sizing-")
	if err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	store := localcluster.SlipwayDataDir(dir)
	if err := running.Hold(ctx, store); err != nil {
		return nil, err
	}
	cluster, err := localcluster.Start(ctx, localcluster.Options{DataDir: dir, BinDir: binDir, UnsafeNoFsync: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	b := &bench{n: n, cluster: cluster, through: unbounded(cluster.RestConfig())}
	direct, err := cluster.DirectConfig("slipway-bench", "system:masters")
	if err != nil {
		return nil, err
	}
	b.direct = unbounded(direct)
	if b.client, err = versioned.NewForConfig(b.direct); err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	if b.server, err = pages.NewSource(b.direct); err != nil {
		return nil, err
	}
	b.result.machines = n
	if err := b.make(ctx, store); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{b.restart, b.read, b.write, b.watch} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return &b.result, nil
}

// unbounded returns config with protobuf and without a rate limit.
func unbounded(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.ContentType = -1, "application/vnd.kubernetes.protobuf"
	return config
}

// make creates the objects and waits until the controllers have reconciled them.
func (b *bench) make(ctx context.Context, store string) error {
	begin := time.Now()
	if err := running.Fill(ctx, b.client, b.n); err != nil {
		return err
	}
	b.result.makes = float64(4*b.n) / time.Since(begin).Seconds()
	progress("%d virtual machines made in %s", b.n, time.Since(begin).Round(time.Second))
	if err := running.Release(ctx, store); err != nil {
		return err
	}
	if err := running.Idle(ctx, b.server); err != nil { // controllers write once that the objects are paused
		return err
	}
	info, err := os.Stat(filepath.Join(store, "member-data", "member", "snap", "db"))
	if err != nil {
		return fmt.Errorf("reading the size of the database: %w", err)
	}
	b.result.database = float64(info.Size())
	return nil
}

// restart measures a start, and the memory after it has settled.
func (b *bench) restart(ctx context.Context) error {
	begin := time.Now()
	if err := b.cluster.RestartSlipway(ctx); err != nil {
		return err
	}
	b.result.ready = time.Since(begin)
	if err := running.Idle(ctx, b.server); err != nil {
		return err
	}
	b.result.passes = time.Since(begin)
	progress("restarted: ready after %s, passes over all after %s", b.result.ready.Round(time.Millisecond), b.result.passes.Round(time.Millisecond))
	if err := running.Pause(ctx, time.Until(begin.Add(settled))); err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		to   *float64
	}{
		{"slipway-apiserver", &b.result.resident},
		{"kube-apiserver", &b.result.host},
		{"kube-controller-manager", &b.result.collector},
	} {
		anonymous, _, err := proc.Resident(b.cluster.PID(p.name))
		if err != nil {
			return err
		}
		*p.to = anonymous
	}
	heap, err := b.server.Heap(ctx)
	b.result.heap = heap
	return err
}

// progress prints progress messages to standard error; the table is on standard output.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
