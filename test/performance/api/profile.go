// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-dev/slipway/test/localcluster"
	"github.com/slipway-dev/slipway/test/performance/pages"
	"github.com/slipway-dev/slipway/test/performance/proc"
	"github.com/slipway-dev/slipway/test/performance/running"
)

// profiled is how long a verb is called repeatedly while a profile is taken.
const profiled = 12 * time.Second

// verbProfile is the processor time of a request by bucket.
type verbProfile struct {
	verb string
	// cost is milliseconds of processor time of slipway-apiserver for a request.
	cost float64
	// share is the part of each bucket, from 0 to 1.
	share map[string]float64
}

// profile calls each verb for some time in one way, and writes a profile of slipway-apiserver for each to a file in
// dir.
func (w way) profile(ctx context.Context, cluster *localcluster.Cluster, dir string) ([]verbProfile, error) {
	config, err := cluster.DirectConfig("slipway-bench", "system:masters")
	if err != nil {
		return nil, err
	}
	server, err := pages.NewSource(config)
	if err != nil {
		return nil, err
	}
	const name = "profiled"
	if err := w.write(ctx, w.client.Post(), running.Machine(name), ""); err != nil {
		return nil, fmt.Errorf("making VirtualMachine %s: %w", name, err)
	}
	guests := [...]string{"ubuntu64Guest", applied}
	patch := func(content types.PatchType) func(int) error {
		return func(i int) error { return w.patch(ctx, content, name, guests[i%2]) }
	}
	get := func(version string) func(int) error {
		return func(int) error { _, err := w.get(ctx, namespace, name, version); return err }
	}
	stored, err := w.get(ctx, namespace, name, "")
	if err != nil {
		return nil, fmt.Errorf("reading VirtualMachine %s: %w", name, err)
	}
	verbs := []struct {
		name string
		f    func(i int) error
	}{
		{"create", func(i int) error {
			return w.write(ctx, w.client.Post(), running.Machine(fmt.Sprintf("%s-%d", name, i)), "")
		}},
		{"status PUT", func(i int) error {
			stored.Status = running.Status(w.captured, i)
			answer, err := w.send(ctx, w.client.Put().Name(name), stored, "status")
			if err != nil {
				return err
			}
			stored, err = w.decode(answer)
			return err
		}},
		{"merge PATCH", patch(types.MergePatchType)},
		{"server-side apply", patch(types.ApplyPatchType)},
		{"GET", get("")},
		{"GET resourceVersion=0", get("0")},
	}
	var all []verbProfile
	for i, verb := range verbs {
		fmt.Fprintf(os.Stderr, "profile of %s\n", verb.name)
		p, err := profileOf(ctx, cluster, server, filepath.Join(dir, fmt.Sprintf("cpu-%d.pprof", i)), verb.f)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", verb.name, err)
		}
		p.verb = verb.name
		all = append(all, *p)
	}
	return all, nil
}

// profileOf calls f until the profile ends.
func profileOf(ctx context.Context, cluster *localcluster.Cluster, server pages.Source, file string, f func(i int) error) (*verbProfile, error) {
	taken := make(chan error, 1)
	go func() {
		taken <- server.KeepProfile(ctx, fmt.Sprintf("profile?seconds=%d", int(profiled.Seconds())), file)
	}()
	before, err := proc.CPUTime(cluster.PID("slipway-apiserver"))
	if err != nil {
		return nil, err
	}
	for calls := 1; ; calls++ {
		if err := f(calls); err != nil {
			return nil, err
		}
		select {
		default:
			continue
		case err := <-taken:
			if err != nil {
				return nil, err
			}
		}
		after, err := proc.CPUTime(cluster.PID("slipway-apiserver"))
		if err != nil {
			return nil, err
		}
		spent, total, err := inBuckets(ctx, file)
		if err != nil {
			return nil, err
		}
		p := &verbProfile{cost: float64((after - before).Microseconds()) / 1000 / float64(calls), share: map[string]float64{}}
		for name, d := range spent {
			p.share[name] = float64(d) / float64(total)
		}
		return p, nil
	}
}

// printProfiles writes the milliseconds of each bucket for a request of each verb.
func printProfiles(out io.Writer, of string, profiles []verbProfile) {
	fmt.Fprintf(out, "\n| ms of slipway-apiserver, %s |", of)
	for _, p := range profiles {
		fmt.Fprintf(out, " %s, %.2f |", p.verb, p.cost)
	}
	fmt.Fprint(out, "\n| --- |")
	for range profiles {
		fmt.Fprint(out, " ---: |")
	}
	fmt.Fprintln(out)
	for _, b := range slices.Concat(whole, innermost, []bucket{{name: restOfIt}}) {
		fmt.Fprintf(out, "| %s |", b.name)
		for _, p := range profiles {
			fmt.Fprintf(out, " %.2f |", p.share[b.name]*p.cost)
		}
		fmt.Fprintln(out)
	}
}
