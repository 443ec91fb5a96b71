// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/clusterapi"
	"github.com/slipway-dev/slipway/test/performance/pages"
	"github.com/slipway-dev/slipway/test/workloadcluster"
)

// The controllers of the Machines.
const (
	slipway    = "slipway"
	clusterAPI = "cluster-api"
)

// groups are the API groups of the kinds, by controller.
var groups = map[string]schema.GroupVersion{
	slipway:    {Group: "cluster.slipway.dev", Version: "v1alpha1"},
	clusterAPI: {Group: "cluster.x-k8s.io", Version: "v1beta2"},
}

// environment is the measured environment.
type environment struct {
	settings settings
	dir      string
	host     *localcluster.Cluster
	workload *workloadcluster.Cluster
	manager  *clusterapi.Manager

	objects dynamic.Interface
	core    kubernetes.Interface
	// hostPages and workloadPages have the metrics of the two API servers. slipwayPages has those of the server with
	// the Machines of Slipway.
	hostPages, workloadPages, slipwayPages pages.Source

	machines *writes
	stopped  context.CancelFunc
}

// start starts all programs, and the infrastructure provider.
func start(ctx context.Context, s settings) (_ *environment, err error) {
	dir, err := os.MkdirTemp("", "slipway-bench-machines-")
	if err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	background, cancel := context.WithCancel(ctx)
	e := &environment{settings: s, dir: dir, stopped: cancel}
	defer func() {
		if err != nil {
			err = e.stop(err)
		}
	}()
	progress("starting the environment in %s", dir)
	e.host, err = localcluster.Start(ctx, localcluster.Options{
		DataDir: filepath.Join(dir, "host"), BinDir: s.binDir, UnsafeNoFsync: true, HostOnly: s.manager == clusterAPI,
	})
	if err != nil {
		return nil, err
	}
	audit, err := auditArgs(dir)
	if err != nil {
		return nil, err
	}
	e.workload, err = workloadcluster.Start(ctx, workloadcluster.Options{DataDir: filepath.Join(dir, "workload"), BinDir: s.binDir, KubeAPIServerArgs: audit})
	if err != nil {
		return nil, err
	}
	if err := e.clients(); err != nil {
		return nil, err
	}
	if err := e.host.Apply(ctx, []byte(provider)); err != nil {
		return nil, err
	}
	if s.manager == clusterAPI {
		if e.manager, err = clusterapi.Start(ctx, e.host, s.binDir, filepath.Join(dir, "manager")); err != nil {
			return nil, err
		}
	}
	if err := e.makeClusters(ctx); err != nil {
		return nil, err
	}
	e.machines = newWrites()
	return e, e.follow(background)
}

func (e *environment) clients() (err error) {
	config := e.host.RestConfig()
	if e.objects, err = dynamic.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if e.core, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if e.hostPages, err = pages.NewSource(config); err != nil {
		return err
	}
	if e.settings.manager == slipway {
		direct, err := e.host.DirectConfig("slipway-bench", "system:masters")
		if err != nil {
			return err
		}
		if e.slipwayPages, err = pages.NewSource(direct); err != nil {
			return err
		}
	}
	config = e.workload.RestConfig()
	config.UserAgent = itsName
	e.workloadPages, err = pages.NewSource(config)
	return err
}

// stop stops all programs, and keeps the logs of a failed run.
func (e *environment) stop(failure error) error {
	e.stopped()
	if e.manager != nil {
		failure = errors.Join(failure, e.manager.Stop())
	}
	if e.host != nil {
		failure = errors.Join(failure, e.host.Stop())
	}
	if e.workload != nil {
		failure = errors.Join(failure, e.workload.Stop())
	}
	if failure != nil || e.settings.keep {
		progress("data and logs are kept in %s", e.dir)
		return failure
	}
	return os.RemoveAll(e.dir)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
