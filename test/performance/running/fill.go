// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/test/performance/pages"
	"github.com/slipway-dev/slipway/test/performance/running"
)

const (
	namespace = metav1.NamespaceDefault
	// submitters is how many clients make objects at once.
	submitters = 8
	// idleFor is how long the queue must be seen empty.
	idleFor = 2 * time.Second
)

// fill makes n virtual machines with the instances of those that run.
func fill(ctx context.Context, c versioned.Interface, n int) error {
	captured, err := running.Capture(ctx, c, namespace)
	if err != nil {
		return err
	}
	making, ctx := errgroup.WithContext(ctx)
	making.SetLimit(submitters)
	for i := range n {
		making.Go(func() error { return makeOne(ctx, c, captured, i) })
	}
	return making.Wait()
}

func makeOne(ctx context.Context, c versioned.Interface, captured *vmv1alpha1.InstancetypeRef, i int) error {
	vm := running.Machine(fmt.Sprintf("vm-%05d", i))
	vm.Annotations = map[string]string{vmv1alpha1.AnnotationPaused: "true"}
	vm, err := c.VmV1alpha1().VirtualMachines(namespace).Create(ctx, vm, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making virtual machine %d: %w", i, err)
	}
	vm.Status = running.Status(captured, i)
	if _, err := c.VmV1alpha1().VirtualMachines(namespace).UpdateStatus(ctx, vm, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing the status of virtual machine %d: %w", i, err)
	}
	instance, err := c.VmV1alpha1().VirtualMachineInstances(namespace).Create(ctx, running.Instance(vm), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making instance %d: %w", i, err)
	}
	instance.Status = vmv1alpha1.VirtualMachineInstanceStatus{Phase: "Running", NodeName: vm.Status.NodeName, Network: vm.Status.Network, Conditions: vm.Status.Conditions[:2]}
	if _, err := c.VmV1alpha1().VirtualMachineInstances(namespace).UpdateStatus(ctx, instance, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing the status of instance %d: %w", i, err)
	}
	return nil
}

// idle waits until the controllers run and have nothing to do.
func idle(ctx context.Context, server pages.Source) error {
	var since time.Time
	for {
		var queues []struct {
			Ready, InProcess int
		}
		data, err := server.Read(ctx, "/debug/queue")
		if err == nil {
			err = json.Unmarshal(data, &queues)
		}
		waiting := 0
		for _, q := range queues {
			waiting += q.Ready + q.InProcess
		}
		switch {
		case err != nil || len(queues) == 0 || waiting > 0: // a server that starts has no queues
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= idleFor:
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
