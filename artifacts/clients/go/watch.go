// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/cache"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/generated/clientset/versioned"
	"github.com/slipway-dev/slipway/pkg/generated/informers/externalversions"
	listers "github.com/slipway-dev/slipway/pkg/generated/listers/vm/v1alpha1"
)

// watcher reports changes of the virtual machines in one namespace.
type watcher struct {
	lister listers.VirtualMachineNamespaceLister
	// changed has a capacity of one: a receiver rereads the object, so one pending notification is enough.
	changed chan struct{}
}

// watch starts the informer and returns when it has listed the objects.
func watch(ctx context.Context, clients versioned.Interface, namespace string) (*watcher, error) {
	factory := externalversions.NewSharedInformerFactoryWithOptions(clients, 0, externalversions.WithNamespace(namespace))
	informer := factory.Vm().V1alpha1().VirtualMachines()
	w := &watcher{lister: informer.Lister().VirtualMachines(namespace), changed: make(chan struct{}, 1)}
	notify := func() {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { notify() },
		UpdateFunc: func(any, any) { notify() },
		DeleteFunc: func(any) { notify() },
	}); err != nil {
		return nil, fmt.Errorf("adding an event handler: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return nil, errors.New("timed out waiting for the informer to sync")
	}
	return w, nil
}

// until waits until wanted returns true and returns the virtual machine. vm is nil if it does not exist.
func (w *watcher) until(ctx context.Context, name string, wanted func(*vmv1alpha1.VirtualMachine) bool) (*vmv1alpha1.VirtualMachine, error) {
	for {
		vm, err := w.lister.Get(name)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if err != nil {
			vm = nil
		}
		if wanted(vm) {
			return vm, nil
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w (Ready condition: %s)", name, ctx.Err(), readyMessage(vm))
		}
	}
}

// ready reports what "kubectl wait --for=condition=Ready" waits for. The status must belong to the current spec.
func ready(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.ObservedGeneration == vm.Generation && meta.IsStatusConditionTrue(vm.Status.Conditions, vmv1alpha1.ConditionReady)
}

// address returns the primary IPv4 address of the guest.
func address(vm *vmv1alpha1.VirtualMachine) string {
	if vm.Status.Network == nil || vm.Status.Network.PrimaryIP4 == "" {
		return "no address"
	}
	return vm.Status.Network.PrimaryIP4
}

// readyMessage returns the reason and message of the condition Ready.
func readyMessage(vm *vmv1alpha1.VirtualMachine) string {
	if vm == nil {
		return "none, the object does not exist"
	}
	if c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionReady); c != nil {
		return c.Reason + ": " + c.Message
	}
	return "not set"
}
