// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

// Command go is an example of a program that uses virtual machines by the typed clients of
// Slipway: it applies one, waits until it is ready, powers it off and deletes it. Each
// step prints a line.
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

// manager owns, in server-side apply, the fields that this program sets, and no others.
const manager = "example-go"

func main() {
	kubeconfig := flag.String("kubeconfig", clientcmd.RecommendedHomeFile, "how to reach the cluster")
	namespace := flag.String("namespace", "default", "namespace of the virtual machine")
	name := flag.String("name", "example-go", "name of the virtual machine")
	timeout := flag.Duration("timeout", 5*time.Minute, "how long all of it may take")
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

// run brings one virtual machine through its life.
func run(ctx context.Context, kubeconfig, namespace, name string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	clients, err := versioned.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making the clients: %w", err)
	}
	// One informer reads what is there and then what changes: nothing is polled.
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
	// The object goes when the virtual machine is gone from vSphere, not before.
	if _, err := seen.until(ctx, name, func(vm *vmv1alpha1.VirtualMachine) bool { return vm == nil }); err != nil {
		return err
	}
	fmt.Printf("%s is gone\n", name)
	return nil
}

// apply says what shall be, twice: an apply that changes nothing writes nothing.
func apply(ctx context.Context, vms typedvm.VirtualMachineInterface, namespace, name string) error {
	wanted := applyvm.VirtualMachine(name, namespace).
		WithLabels(map[string]string{"example": manager}).
		WithSpec(applyvm.VirtualMachineSpec().
			WithInstancetype(applyvm.InstancetypeMatcher().WithName("u1.small")).
			WithPreference(applyvm.PreferenceMatcher().WithName("linux.efi")).
			WithImage(applyvm.VirtualMachineImageRef().WithName("photon-5")).
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
		return errors.New("applying the same again changed the virtual machine")
	}
	return nil
}
