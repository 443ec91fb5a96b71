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

// Limit makes machines refuse a Machine whose namespace has most already. The Machines are counted
// in the watch cache, so that clients which create at the same time can get a few more.
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
				fmt.Errorf("namespace %s has %d Machines, and --max-machines-per-namespace of the server is %d", m.GetNamespace(), n, most))
		}
		return begin(ctx, obj, options)
	}
}
