// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/performance/pages"
	"github.com/slipway-dev/slipway/test/vsphereclient"
)

// environment is the measured environment.
type environment struct {
	settings settings
	dir      string
	cluster  *localcluster.Cluster
	// users connect through kube-apiserver. direct connects to slipway-apiserver, so that the requests of the
	// measurement do not affect kube-apiserver's figures.
	users, direct versioned.Interface
	// slipway and host read metrics of the two servers.
	slipway, host pages.Source
	// made changes the submitted machines, if it is set.
	made func(*vmv1alpha1.VirtualMachine)
	// machines counts the created machines.
	machines int
}

// start starts all programs in a directory in memory, if there is one, so that the disk is not measured.
func start(ctx context.Context, s settings) (_ *environment, err error) {
	dir := s.data
	if dir == "" {
		if dir, err = os.MkdirTemp("", "slipway-bench-"); err != nil {
			return nil, fmt.Errorf("making the data directory: %w", err)
		}
	}
	e := &environment{settings: s, dir: dir}
	defer func() {
		if err != nil {
			err = e.stop(err)
		}
	}()
	progress("starting the environment in %s", dir)
	e.cluster, err = localcluster.Start(ctx, localcluster.Options{
		DataDir: dir, BinDir: s.binDir, UnsafeNoFsync: true, GuestBootDelay: s.bootDelay,
		SlipwayArgs: s.slipwayArgs, VCenters: s.vcenters, Zones: s.vcenters > 1, VCenterArgs: []string{"--control-listen=127.0.0.1:0"},
	})
	if err != nil {
		return nil, err
	}
	direct, err := e.cluster.DirectConfig("slipway-bench", "system:masters")
	if err != nil {
		return nil, err
	}
	direct.QPS = -1
	users := e.cluster.RestConfig()
	if e.users, err = versioned.NewForConfig(users); err != nil {
		return nil, fmt.Errorf("making the client of users: %w", err)
	}
	if e.direct, err = versioned.NewForConfig(direct); err != nil {
		return nil, fmt.Errorf("making the direct client: %w", err)
	}
	if e.host, err = pages.NewSource(users); err != nil {
		return nil, err
	}
	e.slipway, err = pages.NewSource(direct)
	return e, err
}

// stop stops all programs, and keeps the logs of a failed run.
func (e *environment) stop(failure error) error {
	if e.cluster != nil {
		failure = errors.Join(failure, e.cluster.Stop())
	}
	if failure != nil || e.settings.keep || e.settings.data != "" {
		progress("data and logs are kept in %s", localcluster.LogDir(e.dir))
		return failure
	}
	return os.RemoveAll(e.dir)
}

// control sends a control request to the simulated vCenter.
func (e *environment) control(ctx context.Context, method, path string) ([]byte, error) {
	return vsphereclient.Order(ctx, e.cluster.VCenter().ControlURL, method, path)
}

// record takes a CPU profile of slipway-apiserver, from when it serves, into the file
// of that name after the prefix. The returned function waits for its end; it fails if
// the profile could not be taken.
func (e *environment) record(ctx context.Context, name string, length time.Duration) func() error {
	if e.settings.profile == "" {
		return func() error { return nil }
	}
	done := make(chan error, 1)
	go func() {
		done <- until(ctx, func() error {
			return e.slipway.KeepProfile(ctx, fmt.Sprintf("profile?seconds=%d", int(length.Seconds())), e.settings.profile+name)
		})
	}()
	return func() error { return <-done }
}
