// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"

	"github.com/slipway-dev/slipway/pkg/apis/vm"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Readers makes what a request reads other objects with: instance types, preferences,
// classes, images, and the revisions and claims of the host cluster.
type Readers interface {
	instancetype.Reader
	// Instance returns what a VM runs with; apierrors.IsNotFound recognises the error
	// when it does not run.
	Instance(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineInstance, error)
}

// versioned converts v into the version that pkg/instancetype decides on. The result
// shares nothing with v.
func versioned(v *vm.VirtualMachine) (*vmv1alpha1.VirtualMachine, error) {
	out := &vmv1alpha1.VirtualMachine{}
	if err := vmv1alpha1.Convert_vm_VirtualMachine_To_v1alpha1_VirtualMachine(v.DeepCopy(), out, nil); err != nil {
		return nil, fmt.Errorf("converting VirtualMachine %s/%s: %w", v.Namespace, v.Name, err)
	}
	return out, nil
}

// internal converts back. The result shares its parts with v.
func internal(v *vmv1alpha1.VirtualMachine) (*vm.VirtualMachine, error) {
	out := &vm.VirtualMachine{}
	if err := vmv1alpha1.Convert_v1alpha1_VirtualMachine_To_vm_VirtualMachine(v, out, nil); err != nil {
		return nil, fmt.Errorf("converting VirtualMachine %s/%s: %w", v.Namespace, v.Name, err)
	}
	return out, nil
}
