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

// watcher tells of the virtual machines of one namespace.
type watcher struct {
	lister listers.VirtualMachineNamespaceLister
	// changed has room for one: who waits looks at everything anew.
	changed chan struct{}
}

// watch starts the informer and returns when it has read what is there.
func watch(ctx context.Context, clients versioned.Interface, namespace string) (*watcher, error) {
	factory := externalversions.NewSharedInformerFactoryWithOptions(clients, 0, externalversions.WithNamespace(namespace))
	informer := factory.Vm().V1alpha1().VirtualMachines()
	w := &watcher{lister: informer.Lister().VirtualMachines(namespace), changed: make(chan struct{}, 1)}
	tell := func() {
		select {
		case w.changed <- struct{}{}:
		default:
		}
	}
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { tell() },
		UpdateFunc: func(any, any) { tell() },
		DeleteFunc: func(any) { tell() },
	}); err != nil {
		return nil, fmt.Errorf("listening to the informer: %w", err)
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.Informer().HasSynced) {
		return nil, errors.New("the virtual machines could not be read in time")
	}
	return w, nil
}

// until returns the virtual machine once it is as wanted, which is asked about nil when it
// does not exist.
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
			return nil, fmt.Errorf("waiting for %s: %w; it says %s", name, ctx.Err(), said(vm))
		}
	}
}

// ready is what "kubectl wait --for=condition=Ready" waits for. What was computed for
// an earlier spec says nothing about this one.
func ready(vm *vmv1alpha1.VirtualMachine) bool {
	return vm.Status.ObservedGeneration == vm.Generation && meta.IsStatusConditionTrue(vm.Status.Conditions, vmv1alpha1.ConditionReady)
}

// address is where the guest is reached, which a virtual machine without network does not say.
func address(vm *vmv1alpha1.VirtualMachine) string {
	if vm.Status.Network == nil || vm.Status.Network.PrimaryIP4 == "" {
		return "no address"
	}
	return vm.Status.Network.PrimaryIP4
}

// said is why a virtual machine is not ready, in its own words.
func said(vm *vmv1alpha1.VirtualMachine) string {
	if vm == nil {
		return "nothing, for it does not exist"
	}
	if c := meta.FindStatusCondition(vm.Status.Conditions, vmv1alpha1.ConditionReady); c != nil {
		return c.Reason + ": " + c.Message
	}
	return "nothing yet"
}
