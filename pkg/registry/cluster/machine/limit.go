// Copyright The Slipway Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	clusterv1alpha1 "github.com/slipway-dev/slipway/pkg/apis/cluster/v1alpha1"
	"github.com/slipway-dev/slipway/pkg/registry/standard"
)

// Limit rejects new Machines in a namespace that already has most Machines. It counts Machines in the watch cache, so
// concurrent requests can exceed the limit slightly.
func Limit(machines *standard.REST, most int) {
	begin := machines.BeginCreate
	machines.BeginCreate = func(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (genericregistry.FinishFunc, error) {
		list, err := machines.List(ctx, &metainternalversion.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return nil, err
		}
		if n := meta.LenList(list); n >= most {
			m, err := meta.Accessor(obj)
			if err != nil {
				return nil, err
			}
			return nil, apierrors.NewForbidden(clusterv1alpha1.Resource("machines"), m.GetName(),
				fmt.Errorf("namespace %s has %d Machines; the maximum is %d (--max-machines-per-namespace)", m.GetNamespace(), n, most))
		}
		return begin(ctx, obj, options)
	}
}
