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

// followedKind charges a kind whose changes affect virtual machines in the same namespace.
type followedKind struct {
	// Evaluator counts the objects of the kind.
	quotav1.Evaluator
	reader *source
}

func newFollowedKind(resource schema.GroupResource, reader *source) followedKind {
	return followedKind{Evaluator: generic.NewObjectCountEvaluator(resource, nil, ""), reader: reader}
}

// Matches reports whether q limits a resource that item affects.
func (f *followedKind) Matches(q *corev1.ResourceQuota, item runtime.Object) (bool, error) {
	return generic.Matches(q, item, f.MatchingResources, generic.MatchesNoScopeFunc)
}

// MatchingResources returns the names that an object of the kind affects.
func (f *followedKind) MatchingResources(names []corev1.ResourceName) []corev1.ResourceName {
	return append(f.Evaluator.MatchingResources(names), quotav1.Intersection(names, sizeNames)...)
}

// object is an API object.
type object interface {
	metav1.Object
	runtime.Object
}

// usage returns the charge of item and of the growth of the virtual machines for which follows returns true. then
// reads objects as they are after the request.
func (f *followedKind) usage(item object, updatedReader *memo, follows func(*vmv1alpha1.VirtualMachine) bool) (corev1.ResourceList, error) {
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
	currentReader := newMemo(f.reader)
	for i := range all {
		vm := &all[i]
		if !follows(vm) || vm.DeletionTimestamp != nil {
			continue
		}
		before, after := measure(ctx, vm, currentReader).charged, measure(ctx, vm, updatedReader).charged
		total = quotav1.Add(total, quotav1.Mask(quotav1.SubtractWithNonNegativeResult(after, before), sizeNames))
	}
	return total, nil
}
