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

// classEvaluator charges a class for the additional size of its virtual machines, because they change with the class without
// being written themselves.
type classEvaluator struct{ followedKind }

// Handles reports whether request creates or changes a class.
func (c *classEvaluator) Handles(request admission.Attributes) bool {
	if request.GetSubresource() != "" || request.GetOperation() != admission.Update {
		return c.Evaluator.Handles(request)
	}
	updated, ok := request.GetObject().(*vmv1alpha1.VirtualMachineClass)
	stored, hasOld := request.GetOldObject().(*vmv1alpha1.VirtualMachineClass)
	return ok && hasOld && !equality.Semantic.DeepEqual(&stored.Spec, &updated.Spec)
}

// Usage returns the charge of the class object and of the growth of its virtual machines.
func (c *classEvaluator) Usage(item runtime.Object) (corev1.ResourceList, error) {
	class, ok := item.(*vmv1alpha1.VirtualMachineClass)
	if !ok {
		return nil, fmt.Errorf("measuring a VirtualMachineClass: got a %T", item)
	}
	updatedReader := newMemo(c.reader)
	updatedReader.classes[class.Name] = result[*vmv1alpha1.VirtualMachineClass]{value: class}
	return c.usage(class, updatedReader, func(vm *vmv1alpha1.VirtualMachine) bool { return vm.Spec.ClassName == class.Name })
}
