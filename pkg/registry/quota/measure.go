// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// Reader reads virtual machines and the objects that they refer to.
type Reader interface {
	instancetype.Reader
	// VirtualMachines returns the virtual machines of a namespace as currently stored. The caller must not modify
	// them.
	VirtualMachines(ctx context.Context, namespace string) ([]vmv1alpha1.VirtualMachine, error)
}

// measured contains the charges of a virtual machine, and errors for resources whose amount is unknown.
type measured struct {
	charged corev1.ResourceList
	unknown map[corev1.ResourceName]error
}

// measure returns the charges of vm. While a revert is in progress, they are the greater of the current charges and
// those after the revert.
func measure(ctx context.Context, vm *vmv1alpha1.VirtualMachine, r Reader) measured {
	m := measureSpec(ctx, vm, r)
	if restoredVM := revertedMachine(vm); restoredVM != nil {
		restored := measureSpec(ctx, restoredVM, r)
		m.charged = quotav1.Max(m.charged, restored.charged)
		maps.Copy(m.unknown, restored.unknown)
	}
	return m
}

// revertedMachine returns vm with the spec that a revert restores, or nil if no revert has begun.
func revertedMachine(vm *vmv1alpha1.VirtualMachine) *vmv1alpha1.VirtualMachine {
	text, ok := vm.Annotations[vmv1alpha1.AnnotationReverting]
	if !ok {
		return nil
	}
	restoredVM := *vm
	restoredVM.Spec = vmv1alpha1.VirtualMachineSpec{}
	if err := json.Unmarshal([]byte(text), &restoredVM.Spec); err != nil {
		return nil // only the server writes it
	}
	restoredVM.Status.ObservedGeneration = -1 // the desired size in status belongs to the current spec
	return &restoredVM
}

// measureSpec returns the charges of vm. It reads referenced objects only if the status does not contain the size.
func measureSpec(ctx context.Context, vm *vmv1alpha1.VirtualMachine, r Reader) measured {
	desired, err := desiredSize(ctx, vm, r)
	m := measured{charged: chargeSize(vm, vm.Status.Resources, desired), unknown: map[corev1.ResourceName]error{}}
	if err != nil {
		for _, name := range sizeNames {
			m.unknown[name] = err
		}
	}
	var image *vmv1alpha1.VirtualMachineImage
	if vm.Spec.Image != nil {
		if image, err = r.Image(ctx, vm.Namespace, *vm.Spec.Image); err != nil {
			image = nil
			err = fmt.Errorf("reading image %q: %w", vm.Spec.Image.Name, err)
		}
	}
	disks, known := imageDisks(bootDisk(vm), image)
	if vm.Spec.Image != nil && !known {
		if err == nil {
			err = fmt.Errorf("status.disks of image %q does not contain the size of its disks yet", vm.Spec.Image.Name)
		}
		m.unknown[vmv1alpha1.QuotaStorage] = err
	}
	disks.Add(volumesSize(vm))
	m.charged[vmv1alpha1.QuotaStorage] = disks
	return m
}

// desiredSize returns the desired size of vm. It uses the size in status if a controller has observed the current spec. It
// does not do so for a class, because the controller may not have observed its latest generation.
func desiredSize(ctx context.Context, vm *vmv1alpha1.VirtualMachine, r Reader) (*vmv1alpha1.VirtualMachineResources, error) {
	isObserved := vm.Status.ObservedGeneration == vm.Generation && vm.Status.Resources != nil
	if isObserved && vm.Spec.ClassName == "" && !instancetype.AwaitsRevision(vm) {
		if vm.Status.DesiredResources != nil {
			return vm.Status.DesiredResources, nil
		}
		return vm.Status.Resources, nil
	}
	effective, err := instancetype.Effective(vm, instancetype.Gather(ctx, vm, r))
	if err != nil {
		return nil, err
	}
	size := instancetype.Resources(effective)
	if size == nil {
		return nil, errors.New("neither spec nor the objects that it refers to specify the size")
	}
	return size, nil
}

// memo caches reads of objects that many virtual machines of one namespace refer to.
type memo struct {
	Reader
	images  resultCache[vmv1alpha1.VirtualMachineImageRef, *vmv1alpha1.VirtualMachineImage]
	classes resultCache[string, *vmv1alpha1.VirtualMachineClass]
	sources resultCache[sourceKey, *instancetype.Object]
}

type sourceKey struct {
	kind            instancetype.Kind
	namespace, name string
}

func newMemo(r Reader) *memo {
	return &memo{
		Reader: r, images: resultCache[vmv1alpha1.VirtualMachineImageRef, *vmv1alpha1.VirtualMachineImage]{},
		classes: resultCache[string, *vmv1alpha1.VirtualMachineClass]{}, sources: resultCache[sourceKey, *instancetype.Object]{},
	}
}

// Source implements instancetype.Reader.
func (m *memo) Source(ctx context.Context, kind instancetype.Kind, namespace, name string) (*instancetype.Object, error) {
	return m.sources.get(sourceKey{kind, namespace, name}, func() (*instancetype.Object, error) {
		return m.Reader.Source(ctx, kind, namespace, name)
	})
}

// Image implements instancetype.Reader.
func (m *memo) Image(ctx context.Context, namespace string, ref vmv1alpha1.VirtualMachineImageRef) (*vmv1alpha1.VirtualMachineImage, error) {
	return m.images.get(ref, func() (*vmv1alpha1.VirtualMachineImage, error) { return m.Reader.Image(ctx, namespace, ref) })
}

// Class implements instancetype.Reader.
func (m *memo) Class(ctx context.Context, namespace, name string) (*vmv1alpha1.VirtualMachineClass, error) {
	return m.classes.get(name, func() (*vmv1alpha1.VirtualMachineClass, error) { return m.Reader.Class(ctx, namespace, name) })
}

// resultCache caches results, including errors.
type resultCache[K comparable, V any] map[K]result[V]

type result[V any] struct {
	value V
	err   error
}

func (o resultCache[K, V]) get(key K, read func() (V, error)) (V, error) {
	a, known := o[key]
	if !known {
		a.value, a.err = read()
		o[key] = a
	}
	return a.value, a.err
}
