// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command controller-runtime is an example of a program that manages a virtual machine with the client of
// sigs.k8s.io/controller-runtime, like a controller. It applies a virtual machine, waits until it is ready, powers it
// off and deletes it. It prints a line for each step.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	applyvm "github.com/slipway-dev/slipway/pkg/generated/applyconfiguration/vm/v1alpha1"
)

// manager is the field manager for server-side apply.
const manager = "example-controller-runtime"

func main() {
	kubeconfig := flag.String("kubeconfig", clientcmd.RecommendedHomeFile, "path of the kubeconfig file")
	namespace := flag.String("namespace", "default", "namespace of the virtual machine")
	name := flag.String("name", manager, "name of the virtual machine")
	timeout := flag.Duration("timeout", 5*time.Minute, "time limit of the program")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	if err := run(ctx, *kubeconfig, *namespace, *name); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// newClient returns a client for the kinds of vm.slipway.dev. For a manager of controller-runtime, set the same
// scheme in its options.
func newClient(kubeconfig string) (client.WithWatch, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	scheme := runtime.NewScheme()
	if err := vmv1alpha1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering the kinds: %w", err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating the client: %w", err)
	}
	return c, nil
}

// run applies, stops and deletes one virtual machine.
func run(ctx context.Context, kubeconfig, namespace, name string) error {
	c, err := newClient(kubeconfig)
	if err != nil {
		return err
	}
	wanted := applyvm.VirtualMachine(name, namespace).WithSpec(applyvm.VirtualMachineSpec().
		WithInstancetype(applyvm.InstancetypeMatcher().WithName("u1.small")).
		WithPreference(applyvm.PreferenceMatcher().WithName("linux.efi")).
		WithImage(applyvm.VirtualMachineImageRef().WithKind("ClusterVirtualMachineImage").WithName("photon-5")).
		WithPowerState(vmv1alpha1.PoweredOn))
	if err := c.Apply(ctx, wanted, client.FieldOwner(manager)); err != nil {
		return fmt.Errorf("applying %s: %w", name, err)
	}
	fmt.Printf("%s exists\n", name)

	vm, err := until(ctx, c, namespace, name, func(vm *vmv1alpha1.VirtualMachine) bool {
		return vm != nil && vm.Status.ObservedGeneration == vm.Generation &&
			meta.IsStatusConditionTrue(vm.Status.Conditions, vmv1alpha1.ConditionReady)
	})
	if err != nil {
		return err
	}
	fmt.Printf("%s is ready with %d vCPUs\n", name, vm.Status.Resources.VCPUs)

	off := &vmv1alpha1.PowerOptions{Mode: vmv1alpha1.PowerOpModeHard}
	if err := c.SubResource("stop").Create(ctx, vm, off); err != nil {
		return fmt.Errorf("powering %s off: %w", name, err)
	}
	vm, err = until(ctx, c, namespace, name, func(vm *vmv1alpha1.VirtualMachine) bool {
		return vm != nil && vm.Status.PowerState == vmv1alpha1.PoweredOff
	})
	if err != nil {
		return err
	}
	fmt.Printf("%s is %s\n", name, vm.Status.PowerState)

	if err := c.Delete(ctx, vm); err != nil {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	if _, err := until(ctx, c, namespace, name, func(vm *vmv1alpha1.VirtualMachine) bool { return vm == nil }); err != nil {
		return err
	}
	fmt.Printf("%s is deleted\n", name)
	return nil
}

// until waits until wanted returns true and returns the virtual machine. vm is nil if it does not exist. A controller
// does not wait like this, because it is called again after a change.
func until(ctx context.Context, c client.WithWatch, namespace, name string, wanted func(*vmv1alpha1.VirtualMachine) bool) (*vmv1alpha1.VirtualMachine, error) {
	for {
		vm := &vmv1alpha1.VirtualMachine{}
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, vm)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if err != nil {
			vm = nil
		}
		if wanted(vm) {
			return vm, nil
		}
		if vm == nil {
			return nil, fmt.Errorf("%s does not exist any more", name)
		}
		if err := change(ctx, c, vm); err != nil {
			return nil, fmt.Errorf("waiting for %s: %w", name, err)
		}
	}
}

// change returns when the virtual machine may have changed. A watch can end at any time.
func change(ctx context.Context, c client.WithWatch, vm *vmv1alpha1.VirtualMachine) error {
	changes, err := c.Watch(ctx, &vmv1alpha1.VirtualMachineList{}, client.InNamespace(vm.Namespace),
		client.MatchingFields{"metadata.name": vm.Name}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: vm.ResourceVersion}})
	if err != nil {
		return fmt.Errorf("watching: %w", err)
	}
	defer changes.Stop()
	select {
	case <-changes.ResultChan():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
