// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Program tenants runs 20 tenants on one server. Three of them run all attacks of newAttacks concurrently. It checks
// the effect on the others: their requests fail only with 429, or with 503 and Retry-After, and their virtual
// machines run. The store stays below 95 % of its quota. The resident memory of slipway-apiserver stays below 1 GiB,
// without mapped files such as the database of the embedded etcd. The program prints a table, and exits with status 1
// if a check fails.
//
// The server has GOMEMLIMIT as in a container with a limit of 1 GiB.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/performance/pages"
)

const (
	tenants, hostile = 20, 3
	// mostStore and mostResident are the limits that are checked.
	mostStore    = 0.95
	mostResident = 1 << 30
	// memoryLimit is 0.9 GiB, as the server sets it in a container with 1 GiB.
	memoryLimit = "921MiB"
)

type settings struct {
	binDir, attacks    string
	profile            string
	duration, patience time.Duration
	quota              int64
	keep               bool
}

func main() {
	var s settings
	flag.StringVar(&s.binDir, "bin", "bin", "directory of the programs")
	flag.DurationVar(&s.duration, "duration", 20*time.Minute, "how long the hostile tenants work")
	flag.DurationVar(&s.patience, "patience", 3*time.Minute, "how long the virtual machines of the others may take until they run")
	flag.Int64Var(&s.quota, "quota", 1<<30, "quota of the embedded etcd in bytes")
	flag.StringVar(&s.attacks, "attacks", "T1,T2,T3,T4,T5,T7,T8,T9", "attacks that are made")
	flag.StringVar(&s.profile, "profile", "", "file for a profile of the heap, taken while the attacks go on")
	flag.BoolVar(&s.keep, "keep", false, "keep data and logs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "tenants:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp("", "slipway-tenants-")
	if err != nil {
		return fmt.Errorf("making the data directory: %w", err)
	}
	cluster, err := localcluster.Start(ctx, localcluster.Options{
		DataDir: filepath.Join(dir, "data"), BinDir: s.binDir, UnsafeNoFsync: true, GuestBootDelay: time.Second,
		SlipwayArgs: []string{fmt.Sprintf("--etcd-quota-backend-bytes=%d", s.quota)},
	})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() {
		err = errors.Join(err, cluster.Stop())
		if s.keep {
			progress("data and logs are kept in %s", dir)
			return
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	if err := limitMemory(ctx, cluster); err != nil {
		return err
	}
	all, err := newTenants(ctx, cluster)
	if err != nil {
		return err
	}
	direct, err := cluster.DirectConfig("slipway-bench", "system:masters")
	if err != nil {
		return err
	}
	source, err := pages.NewSource(direct)
	if err != nil {
		return err
	}
	return measure(ctx, s, cluster, source, all)
}

// limitMemory restarts the server, and only the server, with the memory limit.
func limitMemory(ctx context.Context, cluster *localcluster.Cluster) error {
	if err := os.Setenv("GOMEMLIMIT", memoryLimit); err != nil {
		return err
	}
	return errors.Join(cluster.RestartSlipway(ctx), os.Unsetenv("GOMEMLIMIT"))
}

// newTenants creates the namespaces, each with an editor.
func newTenants(ctx context.Context, cluster *localcluster.Cluster) ([]*tenant, error) {
	var all []*tenant
	var manifests strings.Builder
	for i := range tenants {
		name := fmt.Sprintf("tenant-%02d", i)
		config, err := cluster.UserConfig(name)
		if err != nil {
			return nil, err
		}
		client, err := rest.HTTPClientFor(config)
		if err != nil {
			return nil, fmt.Errorf("making the client of %s: %w", name, err)
		}
		all = append(all, &tenant{namespace: name, client: client, url: config.Host, answers: newAnswers()})
		fmt.Fprintf(&manifests, `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: editor, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: edit}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}
---
apiVersion: vm.slipway.dev/v1alpha1
kind: VirtualMachineImage
metadata: {name: photon-5, namespace: %[1]s}
spec: {contentLibrary: {library: slipway, item: photon-5}}
---`, name)
	}
	return all, cluster.Apply(ctx, []byte(manifests.String()))
}

// measure runs the hostile tenants next to the others, and reports the effects on the others.
func measure(ctx context.Context, s settings, cluster *localcluster.Cluster, source pages.Source, all []*tenant) error {
	bad, good := all[:hostile], all[hostile:]
	progress("starting the virtual machines of %d tenants", len(good))
	if late, err := start(ctx, good, "first", s.patience); err != nil || len(late) > 0 {
		return errors.Join(err, fmt.Errorf("before the attacks %d virtual machines do not run: %s", len(late), strings.Join(late, "; ")))
	}
	for _, t := range good {
		t.answers.reset() // a namespace serves its editor after a moment
	}
	attacks, stop, err := newAttacks()
	if err != nil {
		return err
	}
	defer stop()
	working, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for _, t := range bad {
		for _, a := range attacks {
			if strings.Contains(s.attacks, a.name[:2]) {
				running.Go(func() { a.repeat(working, t) })
			}
		}
	}
	for _, t := range good {
		running.Go(func() { t.use(working) })
	}
	m := &measured{}
	running.Go(func() { m.follow(working, cluster, source) })
	progress("%d hostile tenants work for %s", len(bad), s.duration)
	if err := pause(ctx, s.duration); err != nil {
		return err
	}
	late, err := start(ctx, good, "last", s.patience)
	if err != nil {
		return err
	}
	if s.profile != "" {
		if err := source.KeepProfile(ctx, "heap", s.profile); err != nil {
			return err
		}
	}
	late = append(late, notRunning(ctx, good, "first")...)
	cancel()
	running.Wait()
	return m.report(s, bad, good, late)
}

// pause waits, or ends with ctx.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// progress prints progress messages; the table is on standard output.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
}
