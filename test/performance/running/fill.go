// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package running

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/store/embedded"
	"github.com/slipway-dev/slipway/pkg/store/identity"
	"github.com/slipway-dev/slipway/test/performance/pages"
)

const (
	// Namespace is the namespace of the objects that Fill creates.
	Namespace = metav1.NamespaceDefault
	// Submitters is the number of concurrent clients that create objects.
	Submitters = 8
	// idleFor is how long the queue must be empty.
	idleFor = 2 * time.Second
)

// Fill creates n paused virtual machines with the instances of running ones, with 4 writes each.
func Fill(ctx context.Context, c versioned.Interface, n int) error {
	captured, err := Capture(ctx, c, Namespace)
	if err != nil {
		return err
	}
	making, ctx := errgroup.WithContext(ctx)
	making.SetLimit(Submitters)
	for i := range n {
		making.Go(func() error { return makeOne(ctx, c, captured, i) })
	}
	return making.Wait()
}

// Name returns the name of the nth virtual machine that Fill creates.
func Name(n int) string { return fmt.Sprintf("vm-%05d", n) }

func makeOne(ctx context.Context, c versioned.Interface, captured *vmv1alpha1.InstancetypeRef, i int) error {
	vm := Machine(Name(i))
	vm.Annotations = map[string]string{vmv1alpha1.AnnotationPaused: "true"}
	vm, err := c.VmV1alpha1().VirtualMachines(Namespace).Create(ctx, vm, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making virtual machine %d: %w", i, err)
	}
	vm.Status = Status(captured, i)
	if _, err := c.VmV1alpha1().VirtualMachines(Namespace).UpdateStatus(ctx, vm, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing the status of virtual machine %d: %w", i, err)
	}
	instance, err := c.VmV1alpha1().VirtualMachineInstances(Namespace).Create(ctx, Instance(vm), metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making instance %d: %w", i, err)
	}
	instance.Status = vmv1alpha1.VirtualMachineInstanceStatus{Phase: "Running", NodeName: vm.Status.NodeName, Network: vm.Status.Network, Conditions: vm.Status.Conditions[:2]}
	if _, err := c.VmV1alpha1().VirtualMachineInstances(Namespace).UpdateStatus(ctx, instance, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("writing the status of instance %d: %w", i, err)
	}
	return nil
}

// Idle waits until the controllers run and have nothing to do.
func Idle(ctx context.Context, server pages.Source) error {
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
		case err != nil || len(queues) == 0 || waiting > 0: // a starting server has no queues
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= idleFor:
			return nil
		}
		if err := Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// Pause waits, or ends with ctx.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Hold creates the data of a new server whose controllers wait until Release, so that they do not reconcile the
// measured objects.
func Hold(ctx context.Context, store string) error {
	member, err := embedded.Start(ctx, embedded.Options{Dir: store})
	if err != nil {
		return fmt.Errorf("holding the controllers: %w", err)
	}
	defer member.Close()
	client := member.Client()
	defer func() { _ = client.Close() }()
	if err := identity.Hold(ctx, client, identity.DefaultPrefix, "it is measured"); err != nil {
		return fmt.Errorf("holding the controllers: %w", err)
	}
	return nil
}

// Release starts the controllers of the server on a directory.
func Release(ctx context.Context, store string) error {
	member, err := embedded.Attach(ctx, store)
	if err != nil {
		return fmt.Errorf("letting the controllers begin: %w", err)
	}
	defer member.Close()
	if _, err := identity.Release(ctx, member.Client(), identity.DefaultPrefix); err != nil {
		return fmt.Errorf("letting the controllers begin: %w", err)
	}
	return nil
}
