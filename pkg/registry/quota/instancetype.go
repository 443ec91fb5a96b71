// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	itv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/instancetype/v1alpha1"
	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/instancetype"
)

// instancetypeEvaluator charges a namespaced instance type for the additional size of virtual machines that have not pinned a
// revision. They change with the instance type. A paused virtual machine may remain in this state indefinitely.
type instancetypeEvaluator struct{ followedKind }

// Handles reports whether request creates or changes an instance type.
func (i *instancetypeEvaluator) Handles(request admission.Attributes) bool {
	if request.GetSubresource() != "" || request.GetOperation() != admission.Update {
		return i.Evaluator.Handles(request)
	}
	updated, ok := request.GetObject().(*itv1alpha1.VirtualMachineInstancetype)
	stored, hasOld := request.GetOldObject().(*itv1alpha1.VirtualMachineInstancetype)
	return ok && hasOld && !equality.Semantic.DeepEqual(&stored.Spec, &updated.Spec)
}

// Usage returns the charge of the instance type object and of the growth of virtual machines.
func (i *instancetypeEvaluator) Usage(item runtime.Object) (corev1.ResourceList, error) {
	it, ok := item.(*itv1alpha1.VirtualMachineInstancetype)
	if !ok {
		return nil, fmt.Errorf("measuring a VirtualMachineInstancetype: got a %T", item)
	}
	updatedReader := newMemo(i.reader)
	key := sourceKey{kind: instancetype.KindInstancetype, namespace: it.Namespace, name: it.Name}
	updatedReader.sources[key] = result[*instancetype.Object]{value: instancetype.FromInstancetype(it)}
	// The instance type may be inferred, so every virtual machine with an instance type is measured. Those that use
	// another one do not grow.
	return i.usage(it, updatedReader, func(vm *vmv1alpha1.VirtualMachine) bool { return vm.Spec.Instancetype != nil })
}
