// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/performance/proc"
	"github.com/slipway-dev/slipway/test/performance/running"
)

const (
	// lists is the number of lists. The result is their median.
	lists = 5
	// writing is how long statuses are written.
	writing = 10 * time.Second
	// watchers is the number of watches.
	watchers, changes = 50, 40
)

// read measures LIST, as of the cache, by both ways.
func (b *bench) read(ctx context.Context) error {
	through, err := versioned.NewForConfig(b.through)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	for _, way := range []struct {
		client versioned.Interface
		to     *time.Duration
	}{{b.client, &b.result.listDirect}, {through, &b.result.listThrough}} {
		var took []time.Duration
		for range lists {
			begin := time.Now()
			found, err := way.client.VmV1alpha1().VirtualMachines(running.Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			if err != nil {
				return fmt.Errorf("listing: %w", err)
			}
			if len(found.Items) < b.n {
				return fmt.Errorf("listing: %d virtual machines, want %d", len(found.Items), b.n)
			}
			took = append(took, time.Since(begin))
		}
		*way.to = middle(took)
	}
	return nil
}

// write measures how many statuses can be written.
func (b *bench) write(ctx context.Context) error {
	before, err := proc.CPUTime(b.cluster.PID("slipway-apiserver"))
	if err != nil {
		return err
	}
	var mu sync.Mutex
	written := 0
	end := time.Now().Add(writing)
	var workers errgroup.Group
	for w := range running.Submitters {
		workers.Go(func() error {
			done := 0
			defer func() { mu.Lock(); written += done; mu.Unlock() }()
			for i := w; time.Now().Before(end); i += running.Submitters {
				if err := b.touch(ctx, running.Name(i%b.n), strconv.Itoa(i)); err != nil {
					return err
				}
				done++
			}
			return nil
		})
	}
	if err := workers.Wait(); err != nil {
		return err
	}
	after, err := proc.CPUTime(b.cluster.PID("slipway-apiserver"))
	if err != nil {
		return err
	}
	b.result.writes = float64(written) / writing.Seconds()
	b.result.writeCPU = (after - before) / time.Duration(max(written, 1))
	return nil
}

// touch updates a virtual machine as the controllers do, after reading it from the cache.
func (b *bench) touch(ctx context.Context, name, text string) error {
	_, err := b.change(ctx, name, text)
	return err
}

func (b *bench) change(ctx context.Context, name, text string) (*vmv1alpha1.VirtualMachine, error) {
	vms := b.client.VmV1alpha1().VirtualMachines(running.Namespace)
	vm, err := vms.Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	vm.Status.NodeName = "host-" + text
	written, err := vms.UpdateStatus(ctx, vm, metav1.UpdateOptions{})
	if err != nil {
		return nil, fmt.Errorf("writing the status of %s: %w", name, err)
	}
	return written, nil
}

// watch measures the time until the last of many watches has received a change.
func (b *bench) watch(ctx context.Context) error {
	found, err := b.client.VmV1alpha1().VirtualMachines(running.Namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return fmt.Errorf("listing: %w", err)
	}
	seen := make(chan string, watchers*changes)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for range watchers {
		w, err := b.client.VmV1alpha1().VirtualMachines(running.Namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: found.ResourceVersion})
		if err != nil {
			return fmt.Errorf("watching: %w", err)
		}
		go func() {
			for event := range w.ResultChan() {
				if vm, ok := event.Object.(*vmv1alpha1.VirtualMachine); ok {
					seen <- vm.ResourceVersion
				}
			}
		}()
	}
	before, err := proc.CPUTime(b.cluster.PID("slipway-apiserver"))
	if err != nil {
		return err
	}
	var took []time.Duration
	for i := range changes {
		begin := time.Now()
		vm, err := b.change(ctx, running.Name(i%b.n), fmt.Sprint("watched-", i))
		if err != nil {
			return err
		}
		for left := watchers; left > 0; {
			select {
			case version := <-seen:
				if version == vm.ResourceVersion {
					left--
				}
			case <-time.After(time.Minute):
				return fmt.Errorf("%d of %d watchers have not seen change %d after a minute", left, watchers, i)
			}
		}
		took = append(took, time.Since(begin))
	}
	after, err := proc.CPUTime(b.cluster.PID("slipway-apiserver"))
	if err != nil {
		return err
	}
	b.result.watched, b.result.watchedCPU = middle(took), (after-before)/changes
	return nil
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}
