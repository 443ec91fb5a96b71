// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// classes charges a class for the additional size of its virtual machines, because they change with the class without
// being written themselves.
type classes struct{ followed }

// Handles reports whether request creates or changes a class.
func (c *classes) Handles(request admission.Attributes) bool {
	if request.GetSubresource() != "" || request.GetOperation() != admission.Update {
		return c.Evaluator.Handles(request)
	}
	updated, ok := request.GetObject().(*vmv1alpha1.VirtualMachineClass)
	stored, was := request.GetOldObject().(*vmv1alpha1.VirtualMachineClass)
	return ok && was && !equality.Semantic.DeepEqual(&stored.Spec, &updated.Spec)
}

// Usage returns the charge of the class object and of the growth of its virtual machines.
func (c *classes) Usage(item runtime.Object) (corev1.ResourceList, error) {
	class, ok := item.(*vmv1alpha1.VirtualMachineClass)
	if !ok {
		return nil, fmt.Errorf("measuring a VirtualMachineClass: got a %T", item)
	}
	then := remember(c.reader)
	then.classes[class.Name] = answer[*vmv1alpha1.VirtualMachineClass]{value: class}
	return c.usage(class, then, func(vm *vmv1alpha1.VirtualMachine) bool { return vm.Spec.ClassName == class.Name })
}
