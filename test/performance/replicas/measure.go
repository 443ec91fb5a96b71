// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	vmclient "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
	"github.com/slipway-dev/slipway/test/performance/proc"
	"github.com/slipway-dev/slipway/test/performance/running"
)

const (
	namespace = "default"
	// listed is the namespace of what is listed, which exists in every cluster.
	listed = "kube-public"
	// lists are made in a round.
	lists = 10
)

// through is the client of the nth request.
func (d *deployment) through(n int, in string) vmclient.VirtualMachineInterface {
	return d.clients[n%len(d.clients)].VmV1alpha1().VirtualMachines(in)
}

// fill makes what is listed.
func (d *deployment) fill(ctx context.Context, n int) error {
	progress("%s: making %d objects", d.name, n)
	for i := range n {
		if _, err := d.through(i, listed).Create(ctx, running.Machine(fmt.Sprintf("listed-%d", i)), metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("making what is listed: %w", err)
		}
	}
	return nil
}

// measure calls each verb on the objects of a round, one request after the other.
func (d *deployment) measure(ctx context.Context, r *report, s settings, round int) error {
	named := func(i int) string { return fmt.Sprintf("vm-%d-%d", round, i) }
	stored := make([]*vmv1alpha1.VirtualMachine, s.objects)
	for _, verb := range []struct {
		name string
		n    int
		f    func(i int) error
	}{
		{"create", s.objects, func(i int) (err error) {
			stored[i], err = d.through(i, namespace).Create(ctx, running.Machine(named(i)), metav1.CreateOptions{})
			return err
		}},
		{"update", s.objects, func(i int) (err error) {
			stored[i].Spec.GuestID = "debian12_64Guest"
			stored[i], err = d.through(i, namespace).Update(ctx, stored[i], metav1.UpdateOptions{})
			return err
		}},
		{"status update", s.objects, func(i int) (err error) {
			stored[i].Status = running.Status(nil, i)
			stored[i], err = d.through(i, namespace).UpdateStatus(ctx, stored[i], metav1.UpdateOptions{})
			return err
		}},
		{"get", s.objects, func(i int) error {
			got, err := d.through(i, namespace).Get(ctx, named(i), metav1.GetOptions{})
			if err == nil && got.ResourceVersion != stored[i].ResourceVersion {
				err = fmt.Errorf("%s is read as of %s, and was written as of %s", got.Name, got.ResourceVersion, stored[i].ResourceVersion)
			}
			return err
		}},
		{fmt.Sprintf("list of %d", s.reading), lists, func(i int) error {
			got, err := d.through(i, listed).List(ctx, metav1.ListOptions{})
			if err == nil && len(got.Items) != s.reading {
				err = fmt.Errorf("%d objects are listed, want %d", len(got.Items), s.reading)
			}
			return err
		}},
	} {
		before, err := d.spent()
		if err != nil {
			return err
		}
		for i := range verb.n {
			began := time.Now()
			if err := verb.f(i); err != nil {
				return fmt.Errorf("%s: %w", verb.name, err)
			}
			r.took(verb.name, d.name, time.Since(began))
		}
		after, err := d.spent()
		if err != nil {
			return err
		}
		r.cost(verb.name, d.name, (after-before)/time.Duration(verb.n))
	}
	return nil
}

// atRest measures what is spent while nobody asks, and then memory.
func atRest(ctx context.Context, r *report, all []*deployment, idle time.Duration) error {
	before := make([]time.Duration, len(all))
	var err error
	for i, d := range all {
		if before[i], err = d.spent(); err != nil {
			return err
		}
	}
	began := time.Now()
	select {
	case <-time.After(idle):
	case <-ctx.Done():
		return ctx.Err()
	}
	for i, d := range all {
		after, err := d.spent()
		if err != nil {
			return err
		}
		r.idle[d.name] = float64((after - before[i]).Milliseconds()) / time.Since(began).Seconds()
		for _, pid := range d.pids() {
			anonymous, file, err := proc.Resident(pid)
			if err != nil {
				return fmt.Errorf("reading the memory of a replica: %w", err)
			}
			r.memory[d.name] = append(r.memory[d.name], resident{anonymous, file})
		}
	}
	return nil
}
