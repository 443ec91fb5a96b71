// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command go is an example of a program that manages a virtual machine with the typed clients of Slipway. It applies
// a virtual machine, waits until it is ready, powers it off and deletes it. It prints a line for each step.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	applyvm "github.com/slipway-dev/slipway/pkg/generated/applyconfiguration/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	typedvm "github.com/slipway-dev/slipway/pkg/generated/clientset/versioned/typed/vm/v1alpha1"
)

// manager is the field manager for server-side apply.
const manager = "example-go"

func main() {
	kubeconfig := flag.String("kubeconfig", clientcmd.RecommendedHomeFile, "path of the kubeconfig file")
	namespace := flag.String("namespace", "default", "namespace of the virtual machine")
	name := flag.String("name", "example-go", "name of the virtual machine")
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

// run applies, stops and deletes one virtual machine.
func run(ctx context.Context, kubeconfig, namespace, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	clients, err := versioned.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("creating the clients: %w", err)
	}
	// An informer lists the objects once and then watches changes, so nothing is polled.
	seen, err := watch(ctx, clients, namespace)
	if err != nil {
		return err
	}
	vms := clients.VmV1alpha1().VirtualMachines(namespace)

	if err := apply(ctx, vms, namespace, name); err != nil {
		return err
	}
	vm, err := seen.until(ctx, name, func(vm *vmv1alpha1.VirtualMachine) bool { return vm != nil && ready(vm) })
	if err != nil {
		return err
	}
	fmt.Printf("%s is ready at %s\n", name, address(vm))

	if _, err := vms.Stop(ctx, name, &vmv1alpha1.PowerOptions{Mode: vmv1alpha1.PowerOpModeHard}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("powering %s off: %w", name, err)
	}
	vm, err = seen.until(ctx, name, func(vm *vmv1alpha1.VirtualMachine) bool {
		return vm != nil && vm.Status.PowerState == vmv1alpha1.PoweredOff
	})
	if err != nil {
		return err
	}
	fmt.Printf("%s is %s\n", name, vm.Status.PowerState)

	if err := vms.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting %s: %w", name, err)
	}
	// The object is deleted after the VM has been deleted in vSphere.
	if _, err := seen.until(ctx, name, func(vm *vmv1alpha1.VirtualMachine) bool { return vm == nil }); err != nil {
		return err
	}
	fmt.Printf("%s is deleted\n", name)
	return nil
}

// apply applies the virtual machine twice. The second apply changes nothing, so nothing is written.
func apply(ctx context.Context, vms typedvm.VirtualMachineInterface, namespace, name string) error {
	wanted := applyvm.VirtualMachine(name, namespace).
		WithLabels(map[string]string{"example": manager}).
		WithSpec(applyvm.VirtualMachineSpec().
			WithInstancetype(applyvm.InstancetypeMatcher().WithName("u1.small")).
			WithPreference(applyvm.PreferenceMatcher().WithName("linux.efi")).
			WithImage(applyvm.VirtualMachineImageRef().WithKind("ClusterVirtualMachineImage").WithName("photon-5")).
			WithPowerState(vmv1alpha1.PoweredOn))
	vm, err := vms.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager})
	if err != nil {
		return fmt.Errorf("applying %s: %w", name, err)
	}
	fmt.Printf("%s exists\n", vm.Name)
	again, err := vms.Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: manager})
	if err != nil {
		return fmt.Errorf("applying %s again: %w", name, err)
	}
	if again.UID != vm.UID || again.Generation != vm.Generation {
		return errors.New("the second apply changed the virtual machine")
	}
	return nil
}
