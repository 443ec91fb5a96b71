// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"k8s.io/apimachinery/pkg/types"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// Kind is the kind of an object for which operations run.
type Kind string

// KindVirtualMachine is the kind of virtual machines.
const KindVirtualMachine Kind = "VirtualMachine"

// Key identifies an object for which operations run. Objects of different kinds may have the same name.
type Key struct {
	// Kind of the object.
	Kind Kind
	types.NamespacedName
}

// VirtualMachineKey returns the key of the virtual machine called name.
func VirtualMachineKey(name types.NamespacedName) Key {
	return Key{Kind: KindVirtualMachine, NamespacedName: name}
}

// KeyOf returns the key of vm.
func KeyOf(vm *vmv1alpha1.VirtualMachine) Key {
	return VirtualMachineKey(types.NamespacedName{Namespace: vm.Namespace, Name: vm.Name})
}
