// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/localcluster/ports"
	"github.com/slipway-dev/slipway/test/localcluster/process"
	"github.com/slipway-dev/slipway/test/performance/proc"
	"github.com/slipway-dev/slipway/test/performance/running"
)

const (
	program = "slipway-apiserver"
	// startTimeout bounds the start of a replica, with the joining of its member.
	startTimeout = 3 * time.Minute
	startPoll    = 100 * time.Millisecond
)

// deployment is one replica or several, with a host cluster.
type deployment struct {
	name    string
	cluster *localcluster.Cluster
	// others are the replicas beside the one of the cluster.
	others []*process.Process
	// clients reach a replica each.
	clients []versioned.Interface
}

// deploy starts so many replicas. What it returns has to be stopped, also with an error.
func deploy(ctx context.Context, s settings, dir string, replicas int, grows bool) (*deployment, error) {
	if err := running.Hold(ctx, localcluster.SlipwayDataDir(dir)); err != nil {
		return nil, err
	}
	var names []string
	for i := range replicas {
		names = append(names, fmt.Sprintf("%s-%d", program, i), fmt.Sprintf("%s-%d-peer", program, i))
	}
	chosen, err := ports.Load(filepath.Join(dir, "replica-ports"), nil, names...)
	if err != nil {
		return nil, err
	}
	peer := func(i int) []string {
		if replicas == 1 && !grows {
			return nil // as a lone replica runs that is not to grow
		}
		return []string{"--etcd-name=" + names[2*i], "--etcd-peer-address=" + chosen.Address(names[2*i+1])}
	}
	d := &deployment{name: "one"}
	if replicas > 1 {
		d.name = strconv.Itoa(replicas)
	}
	d.cluster, err = localcluster.Start(ctx, localcluster.Options{DataDir: dir, BinDir: s.binDir, UnsafeNoFsync: s.noFsync, SlipwayArgs: peer(0)})
	if err != nil {
		return nil, err
	}
	if grows {
		d.name = "one that may grow"
		if err := d.mayGrow(ctx); err != nil {
			return d, err
		}
	}
	given, err := arguments(d.cluster.PID(program))
	if err != nil {
		return d, err
	}
	config, err := d.cluster.DirectConfig("slipway-bench", "system:masters")
	if err != nil {
		return d, err
	}
	config.QPS = -1
	for i := range replicas {
		reached := rest.CopyConfig(config)
		if i > 0 {
			reached.Host = "https://" + chosen.Address(names[2*i])
			own := []string{"--secure-port=" + strconv.Itoa(chosen[names[2*i]]), "--data-dir=" + filepath.Join(dir, names[2*i])}
			p, err := process.Start(process.Spec{
				Name: names[2*i], Path: filepath.Join(s.binDir, program), Args: slices.Concat(given, own, peer(i)),
				LogFile: filepath.Join(localcluster.LogDir(dir), names[2*i]+".log"),
			})
			if err != nil {
				return d, err
			}
			d.others = append(d.others, p)
		}
		if err := awaitReady(ctx, reached); err != nil {
			return d, fmt.Errorf("waiting for %s: %w", names[2*i], err)
		}
		client, err := versioned.NewForConfig(reached)
		if err != nil {
			return d, fmt.Errorf("making the client of %s: %w", names[2*i], err)
		}
		d.clients = append(d.clients, client)
	}
	return d, nil
}

// arguments are those with which a process was started.
func arguments(pid int) ([]string, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return nil, fmt.Errorf("reading the arguments of %s: %w", program, err)
	}
	return strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")[1:], nil
}

func awaitReady(ctx context.Context, config *rest.Config) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, config.Host+"/readyz?exclude=vcenter-session", nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = errors.New(resp.Status)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; at last: %w", ctx.Err(), err)
		case <-time.After(startPoll):
		}
	}
}

// pids are those of the replicas.
func (d *deployment) pids() []int {
	all := []int{d.cluster.PID(program)}
	for _, p := range d.others {
		all = append(all, p.PID())
	}
	return all
}

// spent is the processor time of all replicas so far.
func (d *deployment) spent() (total time.Duration, err error) {
	for _, pid := range d.pids() {
		t, err := proc.CPUTime(pid)
		if err != nil {
			return 0, fmt.Errorf("reading the processor time of a replica: %w", err)
		}
		total += t
	}
	return total, nil
}

func (d *deployment) stop() error {
	var errs []error
	for _, p := range d.others {
		errs = append(errs, p.Kill())
	}
	if d.cluster != nil {
		errs = append(errs, d.cluster.Stop())
	}
	return errors.Join(errs...)
}
