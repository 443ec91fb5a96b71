// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// classes charges a class for what its virtual machines would need more, because they
// follow it without being written themselves.
type classes struct {
	// Evaluator counts the objects.
	quotav1.Evaluator
	reader *source
}

// Handles tells whether request makes or changes a class.
func (c *classes) Handles(request admission.Attributes) bool {
	if request.GetSubresource() != "" || request.GetOperation() != admission.Update {
		return c.Evaluator.Handles(request)
	}
	updated, ok := request.GetObject().(*vmv1alpha1.VirtualMachineClass)
	stored, was := request.GetOldObject().(*vmv1alpha1.VirtualMachineClass)
	return ok && was && !equality.Semantic.DeepEqual(&stored.Spec, &updated.Spec)
}

// Matches tells whether q limits what a class changes.
func (c *classes) Matches(q *corev1.ResourceQuota, item runtime.Object) (bool, error) {
	return generic.Matches(q, item, c.MatchingResources, generic.MatchesNoScopeFunc)
}

// MatchingResources are those of names that a class changes.
func (c *classes) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	return append(c.Evaluator.MatchingResources(names), quotav1.Intersection(names, sizeNames)...)
}

// Usage is the class itself, and by how much its virtual machines would grow.
func (c *classes) Usage(item runtime.Object) (corev1.ResourceList, error) {
	class, ok := item.(*vmv1alpha1.VirtualMachineClass)
	if !ok {
		return nil, fmt.Errorf("measuring a VirtualMachineClass: got a %T", item)
	}
	if c.reader.Reader == nil {
		return nil, errNoStores
	}
	total, err := c.Evaluator.Usage(item)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	all, err := c.reader.VirtualMachines(ctx, class.Namespace)
	if err != nil {
		return nil, fmt.Errorf("listing the virtual machines of namespace %s: %w", class.Namespace, err)
	}
	now, then := remember(c.reader), remember(c.reader)
	then.classes[class.Name] = answer[*vmv1alpha1.VirtualMachineClass]{value: class}
	for i := range all {
		vm := &all[i]
		if vm.Spec.ClassName != class.Name || vm.DeletionTimestamp != nil {
			continue
		}
		before, after := measure(ctx, vm, now).charged, measure(ctx, vm, then).charged
		total = quotav1.Add(total, quotav1.Mask(quotav1.SubtractWithNonNegativeResult(after, before), sizeNames))
	}
	return total, nil
}
