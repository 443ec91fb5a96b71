// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	quotav1 "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"

	vmv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/vm/v1alpha1"
)

// followed charges a kind whose objects virtual machines of their namespace follow.
type followed struct {
	// Evaluator counts the objects.
	quotav1.Evaluator
	reader *source
}

func newFollowed(resource schema.GroupResource, reader *source) followed {
	return followed{Evaluator: generic.NewObjectCountEvaluator(resource, nil, ""), reader: reader}
}

// Matches tells whether q limits what an object changes.
func (f *followed) Matches(q *corev1.ResourceQuota, item runtime.Object) (bool, error) {
	return generic.Matches(q, item, f.MatchingResources, generic.MatchesNoScopeFunc)
}

// MatchingResources are those of names that an object changes.
func (f *followed) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	return append(f.Evaluator.MatchingResources(names), quotav1.Intersection(names, sizeNames)...)
}

// object is one of the API.
type object interface {
	metav1.Object
	runtime.Object
}

// usage is item itself, and by how much the virtual machines that follow it would grow if then,
// which has it, were what is read.
func (f *followed) usage(item object, then *memo, follows func(*vmv1alpha1.VirtualMachine) bool) (corev1.ResourceList, error) {
	if f.reader.Reader == nil {
		return nil, errNoStores
	}
	total, err := f.Evaluator.Usage(item)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	all, err := f.reader.VirtualMachines(ctx, item.GetNamespace())
	if err != nil {
		return nil, fmt.Errorf("listing the virtual machines of namespace %s: %w", item.GetNamespace(), err)
	}
	now := remember(f.reader)
	for i := range all {
		vm := &all[i]
		if !follows(vm) || vm.DeletionTimestamp != nil {
			continue
		}
		before, after := measure(ctx, vm, now).charged, measure(ctx, vm, then).charged
		total = quotav1.Add(total, quotav1.Mask(quotav1.SubtractWithNonNegativeResult(after, before), sizeNames))
	}
	return total, nil
}
