// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package workloadcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/reasons"
)

// Main runs the tests of a package with one cluster, which it passes to set. It does not return.
func Main(m *testing.M, set func(*Cluster)) {
	os.Exit(run(m, func(dir, bin string) (func() error, error) {
		c, err := Start(context.Background(), Options{DataDir: dir, BinDir: bin})
		if err != nil {
			return nil, err
		}
		set(c)
		return c.Stop, nil
	}))
}

// Pair is a management cluster with slipway-apiserver, and a workload cluster next to it.
type Pair struct {
	Host *localcluster.Cluster
	Work *Cluster
	// Dir is the directory of the environment, and BinDir contains the programs.
	Dir, BinDir string

	stops []func() error
}

// AtEnd calls stop before the clusters are stopped.
func (p *Pair) AtEnd(stop func() error) { p.stops = append(p.stops, stop) }

// PairOptions specifies additions to a default Pair.
type PairOptions struct {
	// Zones are as in localcluster.Options.
	Zones bool
	// Ready is called before the tests, to create objects that all of them need.
	Ready func(ctx context.Context, p *Pair) error
}

// MainBesideHost runs the tests of a package with a pair, whose clusters start concurrently. It does not return.
func MainBesideHost(m *testing.M, p *Pair, o PairOptions) {
	os.Exit(run(m, func(dir, bin string) (func() error, error) {
		p.Dir, p.BinDir = dir, bin
		err := p.start(context.Background(), o)
		return p.stop, err
	}))
}

func (p *Pair) start(ctx context.Context, o PairOptions) error {
	var g errgroup.Group
	g.Go(func() (err error) {
		p.Host, err = localcluster.Start(ctx, localcluster.Options{
			DataDir: filepath.Join(p.Dir, "host"), BinDir: p.BinDir, UnsafeNoFsync: true, GuestBootDelay: 100 * time.Millisecond, Zones: o.Zones,
		})
		return err
	})
	g.Go(func() (err error) {
		p.Work, err = Start(ctx, Options{DataDir: filepath.Join(p.Dir, "work"), BinDir: p.BinDir})
		return err
	})
	if err := g.Wait(); err != nil {
		return err
	}
	followed, err := reasons.FollowServer(p.Host.RestConfig())
	if err != nil {
		return err
	}
	p.AtEnd(func() error { return followed(context.Background()) })
	if o.Ready == nil {
		return nil
	}
	return o.Ready(ctx, p)
}

func (p *Pair) stop() error {
	var errs []error
	for _, stop := range slices.Backward(p.stops) {
		errs = append(errs, stop())
	}
	if p.Host != nil {
		errs = append(errs, p.Host.Stop())
	}
	if p.Work != nil {
		errs = append(errs, p.Work.Stop())
	}
	return errors.Join(errs...)
}

// run runs the tests between the start and the stop of an environment. The environment's directory is kept if a test
// fails.
func run(m *testing.M, start func(dir, bin string) (stop func() error, err error)) (code int) {
	fail := func(err error) {
		if err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	dir, err := os.MkdirTemp("", "slipway-") // the path of a socket is short
	if err != nil {
		fail(err)
		return code
	}
	defer func() {
		if code != 0 {
			_, _ = fmt.Fprintf(os.Stderr, "the logs are kept in %s\n", dir)
			return
		}
		_ = os.RemoveAll(dir)
	}()
	bin, err := binDir()
	if err != nil {
		fail(err)
		return code
	}
	stop, err := start(dir, bin)
	if err == nil {
		code = m.Run()
	}
	if stop != nil {
		err = errors.Join(err, stop())
	}
	fail(err)
	return code
}

// binDir returns the directory bin of the module that contains the working directory.
func binDir() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "bin"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod is above the working directory")
		}
		dir = parent
	}
	return "", fmt.Errorf("looking for bin: %w", err)
}
